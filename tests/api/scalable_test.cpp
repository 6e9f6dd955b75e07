// ncclCommInitRankScalable: several ids, several roots, one communicator.

#include <gmock/gmock.h>

#include "base/clock.hpp"
#include "comm/bootstrap_levels.hpp"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using testing::HasSubstr;

std::vector<ncclUniqueId> make_ids(int count) {
  std::vector<ncclUniqueId> ids(static_cast<size_t>(count));
  for (ncclUniqueId& id : ids) EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  return ids;
}

TEST(Scalable, AnyNumberOfRootsMakesOneCommunicator) {
  for (const int ranks : {1, 2, 5, 9}) {
    for (const int roots : {1, 2, 3, 9}) {
      if (roots > ranks) continue;
      std::vector<ncclUniqueId> ids = make_ids(roots);
      on_threads(ranks, [&](int rank) {
        ncclComm_t comm = nullptr;
        ASSERT_EQ(ncclCommInitRankScalable(&comm, ranks, rank, roots, ids.data(), nullptr),
                  ncclSuccess)
            << ranks << " ranks, " << roots << " roots: " << ncclGetLastError(nullptr);
        int value = rank;
        ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
        EXPECT_EQ(value, ranks * (ranks - 1) / 2);
        EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
      });
    }
  }
}

TEST(Scalable, PartsCoverAllRanksEvenly) {
  for (int ranks = 1; ranks < 40; ++ranks) {
    for (int parts = 1; parts <= ranks; ++parts) {
      EXPECT_EQ(first_of_part(0, ranks, parts), 0);
      EXPECT_EQ(first_of_part(parts, ranks, parts), ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        const int part = part_of(rank, ranks, parts);
        EXPECT_LE(first_of_part(part, ranks, parts), rank);
        EXPECT_GT(first_of_part(part + 1, ranks, parts), rank);
      }
    }
  }
}

TEST(Scalable, AMissingRankIsNamedByItsNumber) {
  const Environment environment(Settings{{"STRAIT_INIT_TIMEOUT_MS", "1000"}});
  std::vector<ncclUniqueId> ids = make_ids(3);
  const Deadline bound = Deadline::after_ms(6'000);
  on_threads(9, [&](int rank) {
    if (rank == 7) return;
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRankScalable(&comm, 9, rank, 3, ids.data(), nullptr), ncclTimeout);
    EXPECT_EQ(comm, nullptr);
  });
  EXPECT_FALSE(bound.passed());
}

TEST(Scalable, AFailureInOnePartReachesAll) {
  std::vector<ncclUniqueId> ids = make_ids(2);
  const Deadline bound = Deadline::after_ms(5'000);
  on_threads(6, [&](int rank) {
    ncclComm_t comm = nullptr;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.minCTAs = rank == 5 ? 2 : 1;
    EXPECT_EQ(ncclCommInitRankScalable(&comm, 6, rank, 2, ids.data(), &config), ncclInvalidUsage);
  });
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("rank 5"));
  EXPECT_FALSE(bound.passed());
}

TEST(Scalable, BadArgumentsAreRefused) {
  std::vector<ncclUniqueId> ids = make_ids(2);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankScalable(&comm, 1, 0, 0, ids.data(), nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRankScalable(&comm, 1, 0, 1, nullptr, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRankScalable(&comm, 1, 0, 2, ids.data(), nullptr), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("nId is 2"));
}

}  // namespace
}  // namespace strait::test
