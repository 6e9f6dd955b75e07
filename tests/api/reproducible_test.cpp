// STRAIT_REPRODUCIBLE, seen from outside: the same values give the same bits wherever they lie in a
// message, however large it is and over however many lanes it goes, and in whatever domains the
// ranks are; and without it they do not.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "tests/api/world.hpp"

namespace strait::test {
namespace {

constexpr int kRanks = 5;
// Their sum depends on the order very much.
constexpr std::array<float, kRanks> kValues = {1e8F, 1.25F, -1e8F, 3.5F, 7.25e-3F};

// All sums that some element of some rank ends up as.
std::set<float> sums(const std::string& reproducible, const std::string& domains) {
  std::set<float> found;
  std::mutex mutex;
  for (const char* lanes : {"0", "3"})
    for (const char* chunk : {"0", "700"})
      run_world(kRanks,
                {{"STRAIT_REPRODUCIBLE", reproducible},
                 {"STRAIT_EMULATE_DOMAINS", domains},
                 {"STRAIT_LANES", lanes},
                 {"STRAIT_CHUNK_BYTES", chunk}},
                [&](int rank, ncclComm_t comm) {
                  for (const size_t count : {1, 300, 9'001, 60'000}) {
                    std::vector<float> values(count, kValues[static_cast<size_t>(rank)]);
                    EXPECT_EQ(ncclAllReduce(values.data(), values.data(), count, ncclFloat, ncclSum,
                                            comm, nullptr),
                              ncclSuccess)
                        << ncclGetLastError(comm);
                    const std::lock_guard lock(mutex);
                    found.insert(values.begin(), values.end());
                  }
                });
  return found;
}

std::set<float> sums_of_placements(const std::string& reproducible) {
  std::set<float> found;
  for (const char* domains : {"0", "1", "2", "3"}) found.merge(sums(reproducible, domains));
  return found;
}

TEST(Reproducible, SizesLanesAndPiecesChangeNoBitWhereThatIsAskedFor) {
  EXPECT_GT(sums("off", "2").size(), 1U);
  for (const char* domains : {"0", "2", "3"}) EXPECT_EQ(sums("size", domains).size(), 1U);
}

TEST(Reproducible, NorDoDomainsWhereThatIsAskedFor) {
  EXPECT_GT(sums_of_placements("size").size(), 1U);
  float in_rank_order = 0;
  for (const float value : kValues) in_rank_order += value;
  EXPECT_EQ(sums_of_placements("placement"), std::set<float>{in_rank_order});
}

TEST(Reproducible, ABadWishIsRefused) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const Environment environment(Settings{{"STRAIT_REPRODUCIBLE", "sizes"}});
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclInvalidArgument);
  EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("off, size"), std::string::npos)
      << ncclGetLastError(nullptr);
}

}  // namespace
}  // namespace strait::test
