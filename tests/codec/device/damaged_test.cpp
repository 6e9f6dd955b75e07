// Whatever the bytes, the device's decoder stays within the chunk and the values; and it finds
// wrong what the host's finds wrong, and nothing else.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "codec/device/device_codec.hpp"
#include "codec/format.hpp"
#include "codec/header.hpp"
#include "codec/samples.hpp"

namespace strait::codec {
namespace {

constexpr DataType kFloats[] = {DataType::kBfloat16, DataType::kFloat16,    DataType::kFloat32,
                                DataType::kFloat64,  DataType::kFloat8e4m3, DataType::kFloat8e5m2};

using Chunk = std::vector<std::byte>;

// Makes the header true again after damage to the payload, so that the damage reaches the decoder.
void forge_header(Chunk& chunk, DataType type, size_t count, Mode mode) {
  const Header header = {mode, false, type, static_cast<uint32_t>(count),
                         static_cast<uint32_t>(chunk.size() - kChunkOverhead)};
  write_header(header, chunk);
}

void expect_same_verdicts(DataType type, const std::vector<Chunk>& chunks, size_t count) {
  const auto decoded = device_decode(type, chunks, count);
  std::vector<uint8_t> values(count * size_of(type));
  size_t sound = 0;
  for (size_t i = 0; i < chunks.size(); ++i) {
    const bool ok = decode(chunks[i], type, count, values.data()).ok();
    ASSERT_EQ(decoded[i].fault == 0, ok) << "chunk " << i;
    // Where exponents are narrower than bytes, a damaged record may tell of one that no value
    // holds; what becomes of it is not defined.
    if (ok && shape_of(type).exponent_bits == 8) {
      ASSERT_EQ(decoded[i].values, values) << "chunk " << i;
    }
    sound += ok;
  }
  EXPECT_LT(sound, chunks.size()) << "no damage was done";
}

class Damaged : public testing::TestWithParam<DataType> {};

TEST_P(Damaged, CheckedChunksAreRefused) {
  const DataType type = GetParam();
  std::mt19937 random(1);
  std::vector<Chunk> chunks;
  for (const Sample& sample : samples(type, 1100)) {
    const Chunk chunk = host_encode(type, sample.bytes, {Mode::kDense, true});
    for (int round = 0; round < 4; ++round) {
      chunks.push_back(chunk);
      chunks.back()[random() % chunk.size()] ^= std::byte(1 << random() % 8);
    }
  }
  for (const Decoded& decoded : device_decode(type, chunks, 1100)) ASSERT_NE(decoded.fault, 0u);
}

TEST_P(Damaged, BehindATrueHeader) {
  const DataType type = GetParam();
  std::mt19937 random(2);
  std::vector<Chunk> chunks;
  for (const Sample& sample : samples(type, 1700))
    for (Mode mode : {Mode::kFast, Mode::kDense}) {
      const Chunk chunk = host_encode(type, sample.bytes, {mode, false});
      const auto coded = static_cast<Mode>(chunk[2]);
      if (coded != Mode::kFast && coded != Mode::kDense) continue;
      for (int round = 0; round < 24; ++round) {
        Chunk damaged = chunk;
        const size_t near = round % 2 == 0 ? std::min<size_t>(damaged.size(), 80) : damaged.size();
        for (int hits = 0; hits < 1 + round % 3; ++hits)
          damaged[16 + random() % (near - 16)] = static_cast<std::byte>(random());
        if (round % 5 == 4 && damaged.size() > 64)
          damaged.resize(16 + random() % (damaged.size() - 16));
        forge_header(damaged, type, 1700, coded);
        chunks.push_back(damaged);
      }
    }
  expect_same_verdicts(type, chunks, 1700);
}

TEST_P(Damaged, RandomPayloads) {
  const DataType type = GetParam();
  std::mt19937 random(5);
  std::vector<Chunk> chunks;
  const uint32_t count = 1600;
  for (int round = 0; round < 400; ++round) {
    Chunk chunk(kChunkOverhead + 16 * (1 + random() % 120));
    for (std::byte& byte : chunk)
      byte = static_cast<std::byte>(round % 2 == 0 ? random() : random() % 4);
    if (chunk.size() >= 32) {  // a plausible table gets further
      const auto units = static_cast<uint16_t>((chunk.size() - 32) / 16);
      std::memcpy(chunk.data() + 16, &units, 2);
    }
    forge_header(chunk, type, count, random() % 2 == 0 ? Mode::kFast : Mode::kDense);
    chunks.push_back(chunk);
  }
  expect_same_verdicts(type, chunks, count);
}

TEST_P(Damaged, CutShort) {
  const DataType type = GetParam();
  std::vector<Chunk> chunks;
  for (const Sample& sample : samples(type, 600)) {
    const Chunk chunk = host_encode(type, sample.bytes, {Mode::kDense, false});
    for (size_t size = 0; size < chunk.size(); size += 1 + size / 4)
      chunks.emplace_back(chunk.begin(), chunk.begin() + static_cast<ptrdiff_t>(size));
  }
  for (const Decoded& decoded : device_decode(type, chunks, 600)) ASSERT_NE(decoded.fault, 0u);
}

TEST_P(Damaged, AnotherCountOrTypeIsRefused) {
  const DataType type = GetParam();
  const auto all = samples(type, 600);
  std::vector<Chunk> chunks;
  for (const Sample& sample : all) chunks.push_back(host_encode(type, sample.bytes, {}));
  for (const Decoded& decoded : device_decode(type, chunks, 599)) ASSERT_NE(decoded.fault, 0u);
  for (Chunk& chunk : chunks) chunk[3] ^= std::byte{1};
  for (const Decoded& decoded : device_decode(type, chunks, 600)) ASSERT_NE(decoded.fault, 0u);
}

INSTANTIATE_TEST_SUITE_P(Floats, Damaged, testing::ValuesIn(kFloats),
                         [](const auto& which) { return std::string(name_of(which.param)); });

}  // namespace
}  // namespace strait::codec
