#include "perf/alltoallv/traffic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

namespace strait::perf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<uint64_t> row(const Traffic& traffic, int from, int ranks, uint64_t total) {
  std::vector<uint64_t> bytes;
  for (int to = 0; to < ranks; ++to) bytes.push_back(traffic.bytes(from, to, ranks, total));
  return bytes;
}

Result<Traffic> from(const std::map<std::string, std::string>& variables) {
  return Traffic::read([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Traffic, GivesDistantRanksMore) {
  EXPECT_THAT(row(Traffic::spread_out(1), 0, 4, 6000), ElementsAre(0, 992, 2000, 2992));
  EXPECT_THAT(row(Traffic::spread_out(1), 3, 4, 6000), ElementsAre(992, 2000, 2992, 0));
  EXPECT_THAT(row(Traffic::spread_out(0), 1, 4, 6400), ElementsAre(1600, 1600, 1600, 1600));
  EXPECT_THAT(row(Traffic::spread_out(0.5), 0, 4, 9600), ElementsAre(1200, 2000, 2800, 3600));
  EXPECT_THAT(row(Traffic::spread_out(1), 0, 1, 100), ElementsAre(96));
}

TEST(Traffic, SendsAndReceivesAsMuchOnEveryRank) {
  for (const double spread : {0.0, 0.3, 1.0}) {
    const Traffic traffic = Traffic::spread_out(spread);
    for (int rank = 0; rank < 5; ++rank) {
      EXPECT_EQ(traffic.sent(rank, 5, 100'000), traffic.most(5, 100'000));
      EXPECT_EQ(traffic.received(rank, 5, 100'000), traffic.most(5, 100'000));
    }
  }
}

TEST(Traffic, ReadsAMatrix) {
  const auto traffic = Traffic::parse_matrix("100  200\t150\n\n50 100 75\n300 150 200\n", "m", 1);
  ASSERT_TRUE(traffic.ok()) << traffic.status().message();
  EXPECT_EQ(traffic->dimension(), 3);
  EXPECT_THAT(row(*traffic, 0, 3, 0), ElementsAre(96, 192, 144));
  EXPECT_THAT(row(*traffic, 2, 3, 0), ElementsAre(288, 144, 192));
  EXPECT_EQ(traffic->sent(2, 3, 0), 624u);
  EXPECT_EQ(traffic->received(0, 3, 0), 96u + 48 + 288);
  EXPECT_EQ(traffic->most(3, 0), 624u);
  EXPECT_EQ(traffic->most(2, 0), 288u);  // the first two rows and columns
  EXPECT_EQ(Traffic::parse_matrix("32 32\n64 64", "m", 2.5)->bytes(0, 1, 2, 0), 80u);
}

TEST(Traffic, RefusesWhatIsNoMatrix) {
  EXPECT_THAT(Traffic::parse_matrix("", "m", 1).status().message(), HasSubstr("no matrix"));
  EXPECT_THAT(Traffic::parse_matrix("1 2\n3", "m", 1).status().message(),
              HasSubstr("row 1 has 1 numbers where the first has 2"));
  EXPECT_THAT(Traffic::parse_matrix("1 2\n", "m", 1).status().message(),
              HasSubstr("1 rows of 2 numbers"));
  EXPECT_THAT(Traffic::parse_matrix("1 x\n2 3", "m", 1).status().message(),
              HasSubstr("m, row 0: \"x\" is not a number"));
  EXPECT_THAT(Traffic::parse_matrix("1 -2\n2 3", "m", 1).status().message(),
              HasSubstr("no possible number of bytes"));
  EXPECT_FALSE(Traffic::parse_matrix("1 1e300\n2 3", "m", 1).ok());
}

TEST(Traffic, IsWhatTheEnvironmentSays) {
  EXPECT_EQ(from({})->spread(), 1);
  EXPECT_EQ(from({{"NCCL_TESTS_ALLTOALLV_SPREAD", "0.25"}})->spread(), 0.25);
  EXPECT_EQ(from({{"NCCL_TESTS_ALLTOALLV_SPREAD", "7"}})->spread(), 1);
  EXPECT_FALSE(from({})->prints_summary());
  EXPECT_FALSE(from({{"NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY", "0"}})->prints_summary());
  EXPECT_TRUE(from({{"NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY", "1"}})->prints_summary());
  EXPECT_THAT(from({{"NCCL_TESTS_ALLTOALLV_SPREAD", "wide"}}).status().message(),
              HasSubstr("NCCL_TESTS_ALLTOALLV_SPREAD"));
  EXPECT_THAT(from({{"NCCL_TESTS_ALLTOALLV_MATRIX_FILE", "/no/such"}}).status().message(),
              HasSubstr("/no/such"));
  const std::string path = ::testing::TempDir() + "strait_traffic.txt";
  std::ofstream(path) << "16 32\n48 64\n";
  const auto traffic = from(
      {{"NCCL_TESTS_ALLTOALLV_MATRIX_FILE", path}, {"NCCL_TESTS_ALLTOALLV_MATRIX_SCALE", "10"}});
  ASSERT_TRUE(traffic.ok()) << traffic.status().message();
  EXPECT_EQ(traffic->bytes(1, 0, 2, 0), 480u);
}

}  // namespace
}  // namespace strait::perf
