// Chunks kept from when the format was fixed. They must decode to the values kept with them, and
// those values must encode to the same bytes: whoever changes either has changed the format, and
// needs a new version of it. STRAIT_GOLDEN_WRITE=1 in the environment writes the files anew from
// golden_values().
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>

#include "codec/codec.hpp"
#include "codec/dispatch.hpp"
#include "codec/samples.hpp"

namespace strait::codec {
namespace {

constexpr size_t kBlock = 512;

std::string path_of(const std::string& name) {
  return std::string(STRAIT_SOURCE_DIR) + "/tests/codec/golden/" + name;
}

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, std::span<const uint8_t> bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

// One block each of what the format can say, and one that is not full.
std::vector<uint8_t> golden_values(DataType type) {
  std::vector<uint8_t> values;
  for (const Sample& sample : samples(type, kBlock)) {
    for (const char* wanted : {"zeros", "constant", "normal", "log-normal rows", "mostly zero",
                               "random bits", "outliers", "sum of 2", "sum of 4", "every exponent"})
      if (sample.name == wanted)
        values.insert(values.end(), sample.bytes.begin(), sample.bytes.end());
    if (sample.name == "few levels")  // what is left of a block, at the end
      values.insert(values.end(), sample.bytes.begin(),
                    sample.bytes.begin() + static_cast<ptrdiff_t>(77 * size_of(type)));
  }
  return values;
}

std::vector<uint8_t> encoded(DataType type, const std::vector<uint8_t>& values, Mode mode) {
  const size_t count = values.size() / size_of(type);
  std::vector<std::byte> chunk(bound(type, count));
  const size_t bytes = encode(type, values.data(), count, chunk, {mode, mode == Mode::kDense});
  const auto* first = reinterpret_cast<const uint8_t*>(chunk.data());
  return {first, first + bytes};
}

class Golden : public testing::TestWithParam<DataType> {};

TEST_P(Golden, BytesAndValuesAreAsTheyWere) {
  const DataType type = GetParam();
  const std::string name(name_of(type));
  if (std::getenv("STRAIT_GOLDEN_WRITE") != nullptr) {
    write_file(path_of(name + ".values"), golden_values(type));
    write_file(path_of(name + ".fast"), encoded(type, golden_values(type), Mode::kFast));
    write_file(path_of(name + ".dense"), encoded(type, golden_values(type), Mode::kDense));
  }
  const std::vector<uint8_t> values = read_file(path_of(name + ".values"));
  ASSERT_FALSE(values.empty());
  for (Mode mode : {Mode::kFast, Mode::kDense}) {
    const std::vector<uint8_t> kept =
        read_file(path_of(name + (mode == Mode::kFast ? ".fast" : ".dense")));
    for (const Kernels* kernels : available_kernels()) {
      ASSERT_TRUE(force_kernels(kernels->name));
      std::vector<uint8_t> out(values.size());
      const Status status =
          decode(std::as_bytes(std::span(kept)), type, values.size() / size_of(type), out.data());
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(out, values) << kernels->name;
      EXPECT_EQ(encoded(type, values, mode), kept) << kernels->name;
    }
    ASSERT_TRUE(force_kernels(""));
  }
}

INSTANTIATE_TEST_SUITE_P(Floats, Golden,
                         testing::Values(DataType::kBfloat16, DataType::kFloat16,
                                         DataType::kFloat32, DataType::kFloat64,
                                         DataType::kFloat8e4m3, DataType::kFloat8e5m2),
                         [](const auto& which) { return std::string(name_of(which.param)); });

}  // namespace
}  // namespace strait::codec
