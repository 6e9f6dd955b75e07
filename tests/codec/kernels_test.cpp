// Every implementation that this processor can run gives the same bytes and the same values.
#include "codec/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "codec/codec.hpp"
#include "codec/dispatch.hpp"
#include "codec/samples.hpp"

namespace strait::codec {
namespace {

class ForcedKernels {
 public:
  explicit ForcedKernels(const Kernels* kernels) { EXPECT_TRUE(force_kernels(kernels->name)); }
  ForcedKernels(const ForcedKernels&) = delete;
  ~ForcedKernels() { EXPECT_TRUE(force_kernels("")); }
};

class Implementations : public testing::TestWithParam<DataType> {};

TEST_P(Implementations, GiveTheSameBytesAndValues) {
  const DataType type = GetParam();
  const size_t count = 16384 + 3 * 512 + 5;
  for (const Sample& sample : samples(type, count))
    for (Mode mode : {Mode::kFast, Mode::kDense}) {
      SCOPED_TRACE(sample.name);
      std::vector<std::byte> expected;
      for (const Kernels* kernels : available_kernels()) {
        const ForcedKernels forced(kernels);
        std::vector<std::byte> chunk(bound(type, count));
        chunk.resize(encode(type, sample.bytes.data(), count, chunk, {mode, true}));
        if (expected.empty()) expected = chunk;
        ASSERT_EQ(chunk, expected) << kernels->name << " codes otherwise than portable";
        std::vector<uint8_t> out(sample.bytes.size());
        ASSERT_TRUE(decode(chunk, type, count, out.data()).ok()) << kernels->name;
        ASSERT_EQ(out, sample.bytes) << kernels->name;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, Implementations,
                         testing::Values(DataType::kBfloat16, DataType::kFloat16,
                                         DataType::kFloat32, DataType::kFloat64,
                                         DataType::kFloat8e4m3, DataType::kFloat8e5m2),
                         [](const auto& which) { return std::string(name_of(which.param)); });

std::vector<uint8_t> random_bytes(std::mt19937& random, uint32_t limit) {
  std::vector<uint8_t> bytes(kBlockValues);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % limit);
  return bytes;
}

// One kernel at a time, also where the encoder never takes it.
TEST(Kernels, AgreeWithThePortableOnes) {
  const Kernels& portable = portable_kernels();
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const uint32_t limit = 1 + random() % (round % 2 == 0 ? 256 : 20);
    const std::vector<uint8_t> bytes = random_bytes(random, limit);
    const std::vector<uint8_t> planes = random_bytes(random, 256);
    std::vector<uint8_t> list = random_bytes(random, 256);
    const size_t width = 1 + random() % 7;
    const auto top = static_cast<uint8_t>(random() % 256);
    const size_t list_bytes = random() % kBlockValues;
    for (const Kernels* kernels : available_kernels()) {
      SCOPED_TRACE(kernels->name);
      const auto both = [&](const auto& run) { return std::pair(run(portable), run(*kernels)); };
      const auto bins = both([&](const Kernels& k) {
        ExponentBins found{static_cast<int>(limit / 2 + 3) % 256, {}};
        k.count(bytes.data(), kBlockValues, found);
        return std::vector(found.count, found.count + kBins);
      });
      EXPECT_EQ(bins.first, bins.second);
      const auto windows = both([&](const Kernels& k) {
        ExponentBins found;
        std::copy(bins.first.begin(), bins.first.end(), found.count);
        WindowPlaces places;
        k.find_windows(found, kBlockValues, places);
        std::vector<uint32_t> all = {places.counted};
        for (int w = 0; w < kSearchedWidths; ++w) {
          all.push_back(places.outside[w]);
          all.push_back(places.first[w]);
        }
        return all;
      });
      EXPECT_EQ(windows.first, windows.second);
      const auto numbers = both([&](const Kernels& k) {
        const ExponentRange range = k.range(bytes.data(), kBlockValues);
        return std::vector<size_t>{range.min,
                                   range.max,
                                   range.zeros,
                                   range.sum,
                                   k.sum(bytes.data(), kBlockValues),
                                   k.count_zeros(bytes.data(), kBlockValues, 0x0F)};
      });
      EXPECT_EQ(numbers.first, numbers.second);
      const auto packed = both([&](const Kernels& k) {
        std::vector<uint8_t> out(2 * kBlockValues + kListSlack);
        const size_t n = k.pack_window(bytes.data(), kBlockValues, width, top, out.data(),
                                       out.data() + kBlockValues);
        out.resize(kBlockValues + n);
        return out;
      });
      EXPECT_EQ(packed.first, packed.second);
      const auto unpacked = both([&](const Kernels& k) {
        std::vector<uint8_t> out(kBlockValues);
        const size_t taken = k.unpack_window(planes.data(), kBlockValues, width, top, 31,
                                             list.data(), list_bytes, out.data());
        if (taken > list_bytes) out.clear();  // then the bytes mean nothing
        out.push_back(static_cast<uint8_t>(taken));
        return out;
      });
      EXPECT_EQ(unpacked.first, unpacked.second);
      const auto nonzero = both([&](const Kernels& k) {
        std::vector<uint8_t> out(2 * kBlockValues + kListSlack);
        const size_t n =
            k.pack_nonzero(bytes.data(), kBlockValues, out.data(), out.data() + kBlockValues);
        out.resize(kBlockValues + n);
        std::vector<uint8_t> back(kBlockValues);
        EXPECT_EQ(
            k.unpack_nonzero(out.data(), kBlockValues, out.data() + kBlockValues, n, back.data()),
            n);
        EXPECT_EQ(back, bytes);
        return out;
      });
      EXPECT_EQ(nonzero.first, nonzero.second);
      const auto codes = both([&](const Kernels& k) {
        std::vector<uint8_t> out(kBlockValues);
        k.unpack_bits(planes.data(), kBlockValues, width, out.data());
        return out;
      });
      EXPECT_EQ(codes.first, codes.second);
    }
  }
}

TEST(Dispatch, RefusesWhatIsNotThere) {
  EXPECT_FALSE(force_kernels("abacus"));
  EXPECT_EQ(&kernels(), available_kernels().back());
}

}  // namespace
}  // namespace strait::codec
