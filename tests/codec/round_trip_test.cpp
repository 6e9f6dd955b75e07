#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "codec/codec.hpp"
#include "codec/reference_decoder.hpp"
#include "codec/samples.hpp"

namespace strait::codec {
namespace {

constexpr DataType kFloats[] = {DataType::kBfloat16, DataType::kFloat16,    DataType::kFloat32,
                                DataType::kFloat64,  DataType::kFloat8e4m3, DataType::kFloat8e5m2};

std::vector<std::byte> encoded(DataType type, const void* values, size_t count,
                               const Options& options) {
  std::vector<std::byte> chunk(bound(type, count));
  chunk.resize(encode(type, values, count, chunk, options));
  return chunk;
}

class Collector final : public BlockSink {
 public:
  explicit Collector(size_t value_bytes) : value_bytes_(value_bytes) {}
  void block(const void* values, size_t first, size_t count) override {
    EXPECT_EQ(first * value_bytes_, bytes.size()) << "blocks come in order";
    const auto* in = static_cast<const uint8_t*>(values);
    bytes.insert(bytes.end(), in, in + count * value_bytes_);
  }
  std::vector<uint8_t> bytes;

 private:
  size_t value_bytes_;
};

// Encodes, decodes in every way, and compares bit for bit. Returns the chunk's bytes.
size_t expect_round_trip(DataType type, std::span<const uint8_t> values, const Options& options) {
  const size_t count = values.size() / size_of(type);
  const auto chunk = encoded(type, values.data(), count, options);
  EXPECT_LE(chunk.size(), bound(type, count));

  const auto info = inspect(chunk);
  EXPECT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(info.value().count, count);
  EXPECT_EQ(info.value().type, type);
  EXPECT_EQ(info.value().bytes, chunk.size());
  EXPECT_LE(info.value().mode, std::max(options.mode, Mode::kZero));

  std::vector<uint8_t> out(values.size() + 1, 0xEE);  // at an odd address, with a guard in front
  const Status status = decode(chunk, type, count, out.data() + 1);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(std::equal(values.begin(), values.end(), out.begin() + 1));
  EXPECT_EQ(out[0], 0xEE);

  Collector sink(size_of(type));
  EXPECT_TRUE(decode_blocks(chunk, type, count, sink).ok());
  EXPECT_TRUE(std::equal(values.begin(), values.end(), sink.bytes.begin(), sink.bytes.end()));

  const auto meant = reference::decode(chunk);
  EXPECT_TRUE(meant.has_value()) << "the reference decoder refuses the chunk";
  if (meant) {
    EXPECT_TRUE(std::equal(values.begin(), values.end(), meant->begin(), meant->end()));
  }
  return chunk.size();
}

class RoundTrip : public testing::TestWithParam<DataType> {};

TEST_P(RoundTrip, EverySampleAtManyLengths) {
  const size_t value_bytes = size_of(GetParam());
  for (const Sample& sample : samples(GetParam(), 3 * 512 + 1))
    for (size_t count : {0, 1, 2, 3, 31, 63, 64, 65, 127, 511, 512, 513, 1023, 1024, 1025, 1537}) {
      SCOPED_TRACE(sample.name + " x " + std::to_string(count));
      for (Mode mode : {Mode::kRaw, Mode::kFast, Mode::kDense})
        expect_round_trip(GetParam(), std::span(sample.bytes).first(count * value_bytes),
                          {mode, count % 2 == 0});
      if (HasFailure()) return;
    }
}

TEST_P(RoundTrip, EverySampleOverSeveralTiles) {
  for (const Sample& sample : samples(GetParam(), 2 * 16384 + 5 * 512 + 77)) {
    SCOPED_TRACE(sample.name);
    expect_round_trip(GetParam(), sample.bytes, {Mode::kFast, false});
    expect_round_trip(GetParam(), sample.bytes, {Mode::kDense, true});
    if (HasFailure()) return;
  }
}

TEST_P(RoundTrip, ValuesWrappedWhereTheyLieAreARawChunk) {
  for (const Sample& sample : samples(GetParam(), 513))
    for (const bool checksum : {false, true}) {
      const size_t count = sample.bytes.size() / size_of(GetParam());
      std::vector<std::byte> room(bound(GetParam(), count));
      std::memcpy(room.data() + kChunkOverhead, sample.bytes.data(), sample.bytes.size());
      const Options options{Mode::kDense, checksum};
      EXPECT_EQ(wrap_raw(GetParam(), count, room, options), room.size());
      EXPECT_EQ(room, encoded(GetParam(), sample.bytes.data(), count, {Mode::kRaw, checksum}));
    }
}

TEST_P(RoundTrip, AHeaderAloneBeginsARawChunk) {
  for (const Sample& sample : samples(GetParam(), 513)) {
    const size_t count = sample.bytes.size() / size_of(GetParam());
    const auto header = raw_header(GetParam(), count);
    std::vector<std::byte> chunk = encoded(GetParam(), sample.bytes.data(), count, {Mode::kRaw});
    chunk.resize(header.size());
    EXPECT_TRUE(std::equal(header.begin(), header.end(), chunk.begin(), chunk.end()));
  }
}

TEST_P(RoundTrip, UnalignedValuesAndChunks) {
  const DataType type = GetParam();
  const size_t count = 2000;
  for (const Sample& sample : samples(type, count))
    for (size_t offset : {1, 3, 7}) {
      std::vector<uint8_t> moved(offset);
      moved.insert(moved.end(), sample.bytes.begin(), sample.bytes.end());
      std::vector<std::byte> room(bound(type, count) + offset);
      const auto chunk = std::span(room).subspan(offset);
      const size_t bytes = encode(type, moved.data() + offset, count, chunk, {Mode::kDense, true});
      ASSERT_EQ(std::vector(chunk.begin(), chunk.begin() + static_cast<ptrdiff_t>(bytes)),
                encoded(type, sample.bytes.data(), count, {Mode::kDense, true}))
          << sample.name << ": the bytes depend on the address";
      std::vector<uint8_t> out(sample.bytes.size() + offset);
      ASSERT_TRUE(decode(chunk.first(bytes), type, count, out.data() + offset).ok());
      ASSERT_EQ(std::memcmp(out.data() + offset, sample.bytes.data(), sample.bytes.size()), 0);
    }
}

TEST_P(RoundTrip, EveryPatternOfNarrowTypes) {
  const DataType type = GetParam();
  if (size_of(type) > 2) GTEST_SKIP() << "wider types are covered by exponents x mantissas";
  std::vector<uint64_t> patterns;
  const size_t total = size_t{1} << (8 * size_of(type));
  for (size_t i = 0; i < std::max<size_t>(total, 4096); ++i) patterns.push_back(i % total);
  std::mt19937_64 random(3);
  for (int order = 0; order < 2; ++order) {
    std::vector<uint8_t> bytes;
    for (uint64_t pattern : patterns) append_value(bytes, type, pattern);
    expect_round_trip(type, bytes, {Mode::kFast, true});
    expect_round_trip(type, bytes, {Mode::kDense, true});
    std::shuffle(patterns.begin(), patterns.end(), random);
  }
}

TEST_P(RoundTrip, EveryExponentWithRandomMantissas) {
  const DataType type = GetParam();
  const size_t bits = 8 * size_of(type);
  std::mt19937_64 random(4);
  std::vector<uint8_t> bytes;
  // All values of the sixteen (or eight) top bits, so every sign, exponent and start of a mantissa.
  const size_t top_bits = std::min<size_t>(bits, 16);
  for (uint64_t top = 0; top < (uint64_t{1} << top_bits); ++top) {
    const uint64_t below = bits > top_bits ? random() >> (64 - (bits - top_bits)) : 0;
    append_value(bytes, type, top << (bits - top_bits) | below);
  }
  expect_round_trip(type, bytes, {Mode::kFast, true});
  expect_round_trip(type, bytes, {Mode::kDense, true});
}

INSTANTIATE_TEST_SUITE_P(Floats, RoundTrip, testing::ValuesIn(kFloats),
                         [](const auto& which) { return std::string(name_of(which.param)); });

TEST(Codec, IntegersStayAsTheyAre) {
  for (int t = 0; t < kDataTypeCount; ++t) {
    const auto type = static_cast<DataType>(t);
    if (is_float(type)) continue;
    for (const Sample& sample : samples(type, 1000)) {
      SCOPED_TRACE(sample.name);
      const size_t bytes = expect_round_trip(type, sample.bytes, {Mode::kDense, true});
      const bool zeros = std::all_of(sample.bytes.begin(), sample.bytes.end(),
                                     [](uint8_t byte) { return byte == 0; });
      EXPECT_EQ(bytes, zeros ? kChunkOverhead : bound(type, 1000));
    }
  }
}

TEST(Codec, ZerosCostOneHeader) {
  const std::vector<uint8_t> zeros(1 << 20);
  for (Mode mode : {Mode::kFast, Mode::kDense})
    for (DataType type : kFloats)
      EXPECT_EQ(expect_round_trip(type, zeros, {mode, true}), kChunkOverhead);
}

TEST(Codec, RawModeNeverCodes) {
  const std::vector<uint8_t> zeros(4096);
  EXPECT_EQ(expect_round_trip(DataType::kBfloat16, zeros, {Mode::kRaw, true}),
            bound(DataType::kBfloat16, 2048));
}

// What the fast mode promises on ordinary values, every byte counted.
TEST(Codec, OrdinaryValuesShrink) {
  const struct {
    DataType type;
    double saving;
  } kExpected[] = {{DataType::kBfloat16, 0.29},
                   {DataType::kFloat16, 0.08},
                   {DataType::kFloat32, 0.14},
                   {DataType::kFloat64, 0.11}};
  for (const auto& expected : kExpected)
    for (const Sample& sample : samples(expected.type, 32768)) {
      if (sample.name != "normal") continue;
      const size_t bytes = expect_round_trip(expected.type, sample.bytes, {Mode::kFast, false});
      EXPECT_LE(static_cast<double>(bytes),
                (1 - expected.saving) * static_cast<double>(sample.bytes.size()))
          << name_of(expected.type);
    }
}

TEST(Codec, BfloatsHeldInFloatsShrinkToTheirSize) {
  for (const Sample& sample : samples(DataType::kFloat32, 32768)) {
    if (sample.name != "sum of 1") continue;
    const size_t bytes = expect_round_trip(DataType::kFloat32, sample.bytes, {Mode::kFast, false});
    EXPECT_LE(static_cast<double>(bytes), 0.4 * static_cast<double>(sample.bytes.size()));
  }
}

}  // namespace
}  // namespace strait::codec
