#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <random>

#include "codec/codec.hpp"
#include "codec/header.hpp"
#include "codec/samples.hpp"

namespace strait::codec {
namespace {

using testing::HasSubstr;

constexpr DataType kFloats[] = {DataType::kBfloat16, DataType::kFloat16,    DataType::kFloat32,
                                DataType::kFloat64,  DataType::kFloat8e4m3, DataType::kFloat8e5m2};

// Memory that ends where a page begins that nobody may touch: one byte too far ends the process.
class GuardedBytes {
 public:
  explicit GuardedBytes(size_t size) : size_(size), mapped_((size + 4095) / 4096 * 4096 + 4096) {
    base_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(base_, MAP_FAILED);
    EXPECT_EQ(mprotect(base_ + mapped_ - 4096, 4096, PROT_NONE), 0);
  }
  GuardedBytes(const GuardedBytes&) = delete;
  ~GuardedBytes() { munmap(base_, mapped_); }
  std::span<std::byte> span() { return {base_ + mapped_ - 4096 - size_, size_}; }

 private:
  size_t size_;
  size_t mapped_;
  std::byte* base_;
};

class CountingSink final : public BlockSink {
 public:
  void block(const void*, size_t first, size_t count) override {
    EXPECT_EQ(first, total);
    total += count;
  }
  size_t total = 0;
};

std::vector<std::byte> chunk_of(DataType type, const Sample& sample, const Options& options) {
  const size_t count = sample.bytes.size() / size_of(type);
  std::vector<std::byte> chunk(bound(type, count));
  chunk.resize(encode(type, sample.bytes.data(), count, chunk, options));
  return chunk;
}

// Makes the header true again after damage to the payload, so that the damage reaches the decoder.
void forge_header(std::span<std::byte> chunk) {
  Header header;
  std::memcpy(&header.count, chunk.data() + 4, 4);
  header.mode = static_cast<Mode>(static_cast<int>(chunk[2]) & 127);
  header.type = static_cast<DataType>(chunk[3]);
  header.payload_bytes = static_cast<uint32_t>(chunk.size() - kChunkOverhead);
  write_header(header, chunk);
}

void decode_guarded(std::span<const std::byte> chunk, DataType type, size_t count) {
  GuardedBytes in(chunk.size());
  std::memcpy(in.span().data(), chunk.data(), chunk.size());
  GuardedBytes out(count * size_of(type));
  const Status status = decode(in.span(), type, count, out.span().data());
  CountingSink sink;
  EXPECT_EQ(decode_blocks(in.span(), type, count, sink).ok(), status.ok());
  EXPECT_LE(sink.total, count);
  if (status.ok()) {
    EXPECT_EQ(sink.total, count);
  }
}

class Damage : public testing::TestWithParam<DataType> {};

TEST_P(Damage, IsNeverUnseenInACheckedChunk) {
  std::mt19937 random(1);
  for (const Sample& sample : samples(GetParam(), 1100)) {
    const auto chunk = chunk_of(GetParam(), sample, {Mode::kDense, true});
    std::vector<uint8_t> out(sample.bytes.size());
    for (int round = 0; round < 40; ++round) {
      auto damaged = chunk;
      damaged[random() % damaged.size()] ^= std::byte(1 << random() % 8);
      ASSERT_FALSE(decode(damaged, GetParam(), 1100, out.data()).ok()) << sample.name;
    }
  }
}

TEST_P(Damage, BehindATrueHeaderStaysWithinBounds) {
  std::mt19937 random(2);
  for (const Sample& sample : samples(GetParam(), 1700))
    for (Mode mode : {Mode::kFast, Mode::kDense}) {
      const auto chunk = chunk_of(GetParam(), sample, {mode, false});
      for (int round = 0; round < 60; ++round) {
        auto damaged = chunk;
        const size_t near = round % 2 == 0 ? std::min<size_t>(damaged.size(), 80) : damaged.size();
        for (int hits = 0; hits < 1 + round % 3; ++hits)
          damaged[random() % near] = static_cast<std::byte>(random());
        damaged[2] = chunk[2];
        damaged[3] = chunk[3];
        std::memcpy(damaged.data() + 4, chunk.data() + 4, 4);
        if (round % 5 == 4 && damaged.size() > 40)
          damaged.resize(16 + random() % (damaged.size() - 16));
        forge_header(damaged);
        decode_guarded(damaged, GetParam(), 1700);
      }
    }
}

TEST_P(Damage, RandomPayloadsStayWithinBounds) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> chunk(kChunkOverhead + 16 * (random() % 120));
    for (std::byte& byte : chunk)
      byte = static_cast<std::byte>(round % 2 == 0 ? random() : random() % 4);
    const uint32_t count = 1 + random() % 1600;
    chunk[2] = static_cast<std::byte>(2 + random() % 2);
    chunk[3] = static_cast<std::byte>(GetParam());
    std::memcpy(chunk.data() + 4, &count, 4);
    if (chunk.size() >= 32) {  // a plausible table gets further
      const auto units = static_cast<uint16_t>((chunk.size() - 32) / 16);
      std::memcpy(chunk.data() + 16, &units, 2);
    }
    forge_header(chunk);
    decode_guarded(chunk, GetParam(), count);
  }
}

TEST_P(Damage, TruncationIsSeen) {
  for (const Sample& sample : samples(GetParam(), 600)) {
    const auto chunk = chunk_of(GetParam(), sample, {Mode::kDense, false});
    std::vector<uint8_t> out(sample.bytes.size());
    for (size_t size = 0; size < chunk.size(); size += 1 + size / 16)
      ASSERT_FALSE(decode(std::span(chunk).first(size), GetParam(), 600, out.data()).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Floats, Damage, testing::ValuesIn(kFloats),
                         [](const auto& which) { return std::string(name_of(which.param)); });

TEST(Header, ErrorsSayWhatIsWrong) {
  const std::vector<uint8_t> values(64, 1);
  std::vector<std::byte> chunk(bound(DataType::kInt8, 64));
  encode(DataType::kInt8, values.data(), 64, chunk, {});
  std::vector<uint8_t> out(64);
  const auto message = [&](size_t at, int value) {
    auto damaged = chunk;
    damaged[at] = static_cast<std::byte>(value);
    return decode(damaged, DataType::kInt8, 64, out.data()).message();
  };
  EXPECT_THAT(message(0, 0), HasSubstr("mark of a chunk"));
  EXPECT_THAT(message(1, 9), HasSubstr("version"));
  EXPECT_THAT(message(2, 9), HasSubstr("mode"));
  EXPECT_THAT(message(3, 99), HasSubstr("number type"));
  EXPECT_THAT(message(5, 99), HasSubstr("check"));
  EXPECT_THAT(message(11, 99), HasSubstr("cut short"));
  EXPECT_THAT(decode(chunk, DataType::kInt8, 63, out.data()).message(), HasSubstr("count"));
  EXPECT_THAT(decode(chunk, DataType::kUint8, 64, out.data()).message(), HasSubstr("number type"));
  EXPECT_FALSE(inspect(std::span(chunk).first(15)).ok());
  EXPECT_TRUE(decode(chunk, DataType::kInt8, 64, out.data()).ok());
}

}  // namespace
}  // namespace strait::codec
