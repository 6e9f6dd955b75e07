// Communicators made from others: who is in them, in which order, and that they work.

#include <gmock/gmock.h>

#include <future>
#include <latch>

#include "base/clock.hpp"
#include "strait.h"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using testing::HasSubstr;

// The ranks' numbers in the parent, summed over the communicator.
int sum_over(ncclComm_t comm, int value) {
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess)
      << ncclGetLastError(comm);
  return value;
}

int rank_in(ncclComm_t comm) {
  int rank = -1;
  EXPECT_EQ(ncclCommUserRank(comm, &rank), ncclSuccess) << ncclGetLastError(comm);
  return rank;
}

int size_of_comm(ncclComm_t comm) {
  int count = -1;
  EXPECT_EQ(ncclCommCount(comm, &count), ncclSuccess) << ncclGetLastError(comm);
  return count;
}

TEST(Split, ColorsFormCommunicatorsOrderedByKeyThenRank) {
  for (const int ranks : {2, 3, 6, 9}) {
    run_world(ranks, {}, [&](int rank, ncclComm_t comm) {
      ncclComm_t child = nullptr;
      // Keys fall, so the order turns round; ranks 0 and 1 of one color would tie with equal keys.
      ASSERT_EQ(ncclCommSplit(comm, rank % 2, -rank, &child, nullptr), ncclSuccess)
          << ncclGetLastError(comm);
      const int members = (ranks + 1 - rank % 2) / 2;
      EXPECT_EQ(size_of_comm(child), members);
      EXPECT_EQ(rank_in(child), members - 1 - rank / 2);
      int expected = 0;
      for (int other = rank % 2; other < ranks; other += 2) expected += other;
      EXPECT_EQ(sum_over(child, rank), expected);
      EXPECT_EQ(sum_over(comm, rank), ranks * (ranks - 1) / 2);
      EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
    });
  }
}

TEST(Split, EqualKeysKeepTheOrderOfTheParent) {
  run_world(4, {}, [](int rank, ncclComm_t comm) {
    ncclComm_t child = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, 7, 0, &child, nullptr), ncclSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(rank_in(child), rank);
    EXPECT_EQ(sum_over(child, rank), 6);
    EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
  });
}

TEST(Split, NoColorJoinsNone) {
  run_world(3, {}, [](int rank, ncclComm_t comm) {
    auto child = reinterpret_cast<ncclComm_t>(4711);
    const int color = rank == 1 ? NCCL_SPLIT_NOCOLOR : 0;
    ASSERT_EQ(ncclCommSplit(comm, color, rank, &child, nullptr), ncclSuccess);
    if (rank == 1) {
      EXPECT_EQ(child, nullptr);
      return;
    }
    EXPECT_EQ(sum_over(child, rank), 2);
    EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
  });
}

TEST(Split, ChildrenSplitAgainAndOutliveTheirParent) {
  run_world(8, {}, [](int rank, ncclComm_t comm) {
    ncclComm_t half = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, rank / 4, rank, &half, nullptr), ncclSuccess);
    ncclComm_t quarter = nullptr;
    ASSERT_EQ(ncclCommSplit(half, rank / 2, rank, &quarter, nullptr), ncclSuccess);
    ASSERT_EQ(ncclCommDestroy(half), ncclSuccess);
    EXPECT_EQ(size_of_comm(quarter), 2);
    EXPECT_EQ(sum_over(quarter, rank), rank / 2 * 4 + 1);
    EXPECT_EQ(ncclCommDestroy(quarter), ncclSuccess);
  });
}

TEST(Split, ColorsMayHaveConfigsOfTheirOwn) {
  run_world(4, {}, [](int rank, ncclComm_t comm) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.minCTAs = config.maxCTAs = 1 + rank / 2;
    config.commName = "half";
    ncclComm_t child = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, rank / 2, rank, &child, &config), ncclSuccess)
        << ncclGetLastError(comm);
    EXPECT_EQ(sum_over(child, rank), rank / 2 * 4 + 1);
    EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
  });
}

TEST(Split, ConfigsThatDifferWithinAColorFailItAndNameTheSetting) {
  run_world(4, {}, [](int rank, ncclComm_t comm) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.minCTAs = rank == 3 ? 2 : 1;
    ncclComm_t child = nullptr;
    const ncclResult_t result = ncclCommSplit(comm, rank / 2, rank, &child, &config);
    if (rank < 2) {
      ASSERT_EQ(result, ncclSuccess);
      EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
    } else {
      EXPECT_EQ(result, ncclInvalidUsage);
      EXPECT_EQ(child, nullptr);
      EXPECT_THAT(ncclGetLastError(comm), HasSubstr("LANES_MIN is 1 and 2"));
    }
  });
}

TEST(Split, SeveralInOneGroup) {
  run_world(4, {}, [](int rank, ncclComm_t comm) {
    ncclComm_t row = nullptr;
    ncclComm_t column = nullptr;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(ncclCommSplit(comm, rank / 2, rank, &row, nullptr), ncclSuccess);
    ASSERT_EQ(ncclCommSplit(comm, rank % 2, rank, &column, nullptr), ncclSuccess);
    EXPECT_EQ(row, nullptr);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(sum_over(row, rank), rank / 2 * 4 + 1);
    EXPECT_EQ(sum_over(column, rank), rank % 2 * 2 + 2);
    EXPECT_EQ(ncclCommDestroy(row), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(column), ncclSuccess);
  });
}

TEST(Split, DomainsStayWhereTheyAre) {
  // Ranks 0, 1 | 2, 3 in two racks; a child of ranks 1 and 2 still has two.
  run_world(4, {{"STRAIT_EMULATE_DOMAINS", "2"}, {"STRAIT_TRANSPORTS", "inproc,tcp"}},
            [](int rank, ncclComm_t comm) {
              ncclComm_t child = nullptr;
              const bool inside = rank == 1 || rank == 2;
              ASSERT_EQ(ncclCommSplit(comm, inside, rank, &child, nullptr), ncclSuccess);
              straitCommStats_t stats{};
              stats.size = sizeof stats;
              ASSERT_EQ(straitCommGetStats(child, &stats), ncclSuccess);
              EXPECT_EQ(stats.domain_count, 2);
              EXPECT_EQ(sum_over(child, rank), 3);
              EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
            });
}

TEST(Split, BadArgumentsAreRefused) {
  run_world(1, {}, [](int, ncclComm_t comm) {
    ncclComm_t child = nullptr;
    EXPECT_EQ(ncclCommSplit(comm, -2, 0, &child, nullptr), ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("color -2"));
    EXPECT_EQ(ncclCommSplit(comm, 0, 0, nullptr, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommSplit(nullptr, 0, 0, &child, nullptr), ncclInvalidArgument);
    ASSERT_EQ(ncclCommFinalize(comm), ncclSuccess);
    EXPECT_EQ(ncclCommSplit(comm, 0, 0, &child, nullptr), ncclInvalidUsage);
  });
}

TEST(SplitShare, ChildrenUseTheTransportsOfTheirParent) {
  for (const char* transports : {"inproc", "shm", "tcp"}) {
    const Environment environment(
        Settings{{"STRAIT_TRANSPORTS", transports}, {"NCCL_COMM_SPLIT_SHARE_RESOURCES", "1"}});
    run_world(4, {}, [](int rank, ncclComm_t comm) {
      ncclComm_t half = nullptr;
      ncclComm_t turned = nullptr;
      ASSERT_EQ(ncclCommSplit(comm, rank / 2, -rank, &half, nullptr), ncclSuccess)
          << ncclGetLastError(comm);
      ASSERT_EQ(ncclCommSplit(half, 0, -rank, &turned, nullptr), ncclSuccess)
          << ncclGetLastError(comm);
      // All at once: their links must not mix.
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(sum_over(comm, rank), 6);
        EXPECT_EQ(sum_over(half, rank), rank / 2 * 4 + 1);
        EXPECT_EQ(sum_over(turned, rank + 1), rank / 2 * 4 + 3);
      }
      EXPECT_EQ(ncclCommDestroy(half), ncclSuccess);
      EXPECT_EQ(sum_over(turned, rank), rank / 2 * 4 + 1);
      EXPECT_EQ(ncclCommDestroy(turned), ncclSuccess);
    });
  }
}

TEST(SplitShare, AbortOfOneIsAbortOfAll) {
  const Environment environment(Settings{{"NCCL_COMM_SPLIT_SHARE_RESOURCES", "1"}});
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    ncclComm_t child = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, 0, rank, &child, nullptr), ncclSuccess);
    ASSERT_EQ(ncclCommAbort(child), ncclSuccess);
    ncclResult_t state = ncclSuccess;
    ASSERT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
    EXPECT_EQ(state, ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("aborted"));
  });
}

TEST(SplitShare, WithoutItAnAbortIsTheChildsOwn) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    ncclComm_t child = nullptr;
    ASSERT_EQ(ncclCommSplit(comm, 0, rank, &child, nullptr), ncclSuccess);
    ASSERT_EQ(ncclCommAbort(child), ncclSuccess);
    EXPECT_EQ(sum_over(comm, rank), 1);
  });
}

TEST(Shrink, LeavesTheOthersInTheirOrder) {
  for (const char* share : {"0", "1"}) {
    const Environment environment(Settings{{"NCCL_COMM_SHRINK_SHARE_RESOURCES", share}});
    run_world(5, {}, [](int rank, ncclComm_t comm) {
      int excluded[] = {3, 1};
      if (rank == 1 || rank == 3) return;
      ncclComm_t child = nullptr;
      ASSERT_EQ(ncclCommShrink(comm, excluded, 2, &child, nullptr, NCCL_SHRINK_DEFAULT),
                ncclSuccess)
          << ncclGetLastError(comm);
      EXPECT_EQ(size_of_comm(child), 3);
      EXPECT_EQ(rank_in(child), rank / 2);
      EXPECT_EQ(sum_over(child, rank), 6);
      EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
    });
  }
}

TEST(Shrink, AbortEndsWhatWaitsForADeadRank) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::latch used(4);
  on_threads(4, [&](int rank) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, 4, id, rank), ncclSuccess);
    EXPECT_EQ(sum_over(comm, rank), 6);
    used.arrive_and_wait();
    const Deadline bound = Deadline::after_ms(10'000);
    if (rank == 0) {  // which hosted the meetings
      ASSERT_EQ(ncclCommAbort(comm), ncclSuccess);
      return;
    }
    int value = 1;
    EXPECT_NE(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    int excluded[] = {0};
    ncclComm_t child = nullptr;
    EXPECT_NE(ncclCommShrink(comm, excluded, 1, &child, nullptr, NCCL_SHRINK_DEFAULT), ncclSuccess);
    ASSERT_EQ(ncclCommShrink(comm, excluded, 1, &child, nullptr, NCCL_SHRINK_ABORT), ncclSuccess)
        << ncclGetLastError(comm);
    EXPECT_EQ(rank_in(child), rank - 1);
    EXPECT_EQ(sum_over(child, rank), 6);
    EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    EXPECT_FALSE(bound.passed());
  });
}

TEST(Shrink, BadArgumentsAreRefused) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    if (rank != 0) return;
    ncclComm_t child = nullptr;
    const auto refused = [&](std::vector<int> list, int flags, const char* part) {
      EXPECT_EQ(
          ncclCommShrink(comm, list.data(), static_cast<int>(list.size()), &child, nullptr, flags),
          ncclInvalidArgument);
      EXPECT_THAT(ncclGetLastError(comm), HasSubstr(part));
    };
    refused({}, NCCL_SHRINK_DEFAULT, "names no rank");
    refused({2}, NCCL_SHRINK_DEFAULT, "rank 2");
    refused({1, 1}, NCCL_SHRINK_DEFAULT, "twice");
    refused({0}, NCCL_SHRINK_DEFAULT, "this rank, 0");
    refused({1}, 2, "shrinkFlags is 2");
  });
}

void grow_by(int old_count, int new_count, int coordinator) {
  const Environment environment(Settings{{"STRAIT_INIT_TIMEOUT_MS", "10000"}});
  ncclUniqueId first;
  ASSERT_EQ(ncclGetUniqueId(&first), ncclSuccess);
  std::promise<ncclUniqueId> told;
  const std::shared_future<ncclUniqueId> growing = told.get_future().share();
  const int all = old_count + new_count;
  on_threads(all, [&](int rank) {
    ncclComm_t parent = nullptr;
    ncclComm_t grown = nullptr;
    if (rank < old_count) {
      ASSERT_EQ(ncclCommInitRank(&parent, old_count, first, rank), ncclSuccess);
      ncclUniqueId id;
      if (rank == coordinator) {
        ASSERT_EQ(ncclCommGetUniqueId(parent, &id), ncclSuccess) << ncclGetLastError(parent);
        EXPECT_EQ(ncclCommGetUniqueId(parent, &id), ncclInvalidUsage);
        told.set_value(id);
      }
      ASSERT_EQ(ncclCommGrow(parent, all, rank == coordinator ? &id : nullptr, -1, &grown, nullptr),
                ncclSuccess)
          << ncclGetLastError(parent);
      EXPECT_EQ(ncclCommDestroy(parent), ncclSuccess);
    } else {
      const ncclUniqueId id = growing.get();
      ASSERT_EQ(ncclCommGrow(nullptr, all, &id, rank, &grown, nullptr), ncclSuccess)
          << ncclGetLastError(nullptr);
    }
    EXPECT_EQ(rank_in(grown), rank);
    EXPECT_EQ(size_of_comm(grown), all);
    EXPECT_EQ(sum_over(grown, rank), all * (all - 1) / 2);
    EXPECT_EQ(ncclCommDestroy(grown), ncclSuccess);
  });
}

TEST(Grow, AddsRanksBehindTheOldOnes) {
  grow_by(1, 1, 0);
  grow_by(2, 3, 0);
  grow_by(3, 1, 2);
}

TEST(Grow, BadArgumentsAreRefused) {
  run_world(1, {}, [](int, ncclComm_t comm) {
    ncclComm_t grown = nullptr;
    ncclUniqueId id;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    EXPECT_EQ(ncclCommGrow(comm, 1, nullptr, -1, &grown, nullptr), ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("more than the 1 ranks"));
    EXPECT_EQ(ncclCommGrow(comm, 2, nullptr, 0, &grown, nullptr), ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("rank is 0"));
    EXPECT_EQ(ncclCommGrow(comm, 2, &id, -1, &grown, nullptr), ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(comm), HasSubstr("ncclCommGetUniqueId"));
    EXPECT_EQ(ncclCommGrow(nullptr, 2, nullptr, 1, &grown, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommGrow(nullptr, 2, &id, 1, &grown, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommGetUniqueId(comm, nullptr), ncclInvalidArgument);
  });
}

}  // namespace
}  // namespace strait::test
