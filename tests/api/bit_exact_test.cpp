// Compression changes no bit: the same call with and without it, on random floats of every type,
// with sizes and layouts that make coded edges, gives the same bytes on every rank.

#include <cstring>
#include <ostream>
#include <random>

#include "base/types.hpp"
#include "strait.h"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using Bytes = std::vector<std::byte>;

// Random bits in most types would be mostly huge and NaN; this keeps the exponents where gradients
// have them, with a few zeros, infinities and NaNs among them.
Bytes random_floats(DataType type, size_t count, int rank) {
  std::mt19937 random(static_cast<unsigned>(rank) * 97 + static_cast<unsigned>(type));
  std::normal_distribution<float> normal(0.0F, 0.01F);
  Bytes bytes(count * size_of(type));
  for (size_t i = 0; i < count; ++i) {
    const float value = normal(random);
    const double wide = value;
    uint64_t bits = random();
    if (type == DataType::kFloat64)
      std::memcpy(&bits, &wide, sizeof wide);
    else if (size_of(type) >= 2)
      std::memcpy(&bits, &value, sizeof value);
    if (type == DataType::kBfloat16) bits >>= 16;
    if (type == DataType::kFloat16) bits = random() & 0xbfff;
    if (i % 1009 == 0) bits = 0;
    if (i % 4001 == 0) bits = random();
    std::memcpy(bytes.data() + i * size_of(type), &bits, size_of(type));
  }
  return bytes;
}

struct Case {
  DataType type;
  int rank_count;
  const char* ranks_per_domain;
  const char* algorithm;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << name_of(c.type) << " " << c.algorithm << " " << c.rank_count << " ranks";
}

std::vector<Bytes> results(const Case& c, const char* compress, size_t count,
                           uint64_t* wire_bytes) {
  std::vector<Bytes> outputs(static_cast<size_t>(c.rank_count));
  std::vector<uint64_t> wire(outputs.size());
  const Settings settings = {{"STRAIT_EMULATE_DOMAINS", c.ranks_per_domain},
                             {"STRAIT_ALGO", c.algorithm},
                             {"STRAIT_COMPRESS", compress},
                             {"STRAIT_CHECKSUM", "on"}};
  run_world(c.rank_count, settings, [&](int rank, ncclComm_t comm) {
    const Bytes input = random_floats(c.type, count, rank);
    Bytes& output = outputs[static_cast<size_t>(rank)];
    output.resize(input.size());
    ASSERT_EQ(ncclAllReduce(input.data(), output.data(), count, static_cast<ncclDataType_t>(c.type),
                            ncclSum, comm, nullptr),
              ncclSuccess)
        << ncclGetLastError(comm);
    straitCommStats_t stats{};
    stats.size = sizeof stats;
    ASSERT_EQ(straitCommGetStats(comm, &stats), ncclSuccess);
    wire[static_cast<size_t>(rank)] = stats.coded_wire_bytes_sent;
  });
  *wire_bytes = 0;
  for (const uint64_t bytes : wire) *wire_bytes += bytes;
  return outputs;
}

class BitExact : public testing::TestWithParam<Case> {};

TEST_P(BitExact, CompressedEqualsUncompressed) {
  for (const size_t count : {size_t{1}, size_t{1023}, size_t{300'001}}) {
    uint64_t raw_bytes = 0;
    uint64_t coded_bytes = 0;
    const auto plain = results(GetParam(), "off", count, &raw_bytes);
    const auto coded = results(GetParam(), "fast", count, &coded_bytes);
    for (size_t rank = 0; rank < plain.size(); ++rank) {
      EXPECT_TRUE(plain[rank] == coded[rank]) << "rank " << rank << ", count " << count;
      EXPECT_TRUE(plain[rank] == plain[0]) << "rank " << rank << ", count " << count;
    }
    if (count > 100'000 && size_of(GetParam().type) == 2) {
      EXPECT_LT(coded_bytes, raw_bytes) << "nothing was compressed";
    }
    EXPECT_LT(coded_bytes, raw_bytes + raw_bytes / 50 + 16'384);
  }
}

std::string name_case(const testing::TestParamInfo<Case>& info) {
  return std::string(name_of(info.param.type)) + "_" + info.param.algorithm + "_" +
         std::to_string(info.param.rank_count) + "by" + info.param.ranks_per_domain;
}

INSTANTIATE_TEST_SUITE_P(All, BitExact,
                         testing::Values(Case{DataType::kBfloat16, 4, "2", "hierarchical"},
                                         Case{DataType::kFloat16, 4, "2", "hierarchical"},
                                         Case{DataType::kFloat32, 4, "2", "hierarchical"},
                                         Case{DataType::kFloat64, 4, "2", "hierarchical"},
                                         Case{DataType::kFloat8e4m3, 4, "2", "hierarchical"},
                                         Case{DataType::kFloat8e5m2, 4, "2", "hierarchical"},
                                         Case{DataType::kBfloat16, 6, "2", "hierarchical"},
                                         Case{DataType::kBfloat16, 5, "2", "hierarchical"},
                                         Case{DataType::kBfloat16, 4, "2", "ring"},
                                         Case{DataType::kBfloat16, 4, "2", "tree"},
                                         Case{DataType::kFloat32, 4, "1", "two_shot"}),
                         name_case);

}  // namespace
}  // namespace strait::test
