// Split, shrink and grow among processes, also when one of them is killed.

#include "base/clock.hpp"
#include "tests/api/processes.hpp"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

void expect_sum(ncclComm_t comm, int value, int expected) {
  need(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), "ncclAllReduce");
  need(value == expected, "the sum is " + std::to_string(value));
}

class ChildrenOfProcesses : public ::testing::TestWithParam<int> {};

TEST_P(ChildrenOfProcesses, SplitInTwo) {
  const int ranks = GetParam();
  Processes processes(ranks, [&](int rank, SharedPage& page) {
    ncclComm_t comm = nullptr;
    need(ncclCommInitRank(&comm, ranks, page.id, rank), "ncclCommInitRank");
    ncclComm_t half = nullptr;
    need(ncclCommSplit(comm, rank % 2, -rank, &half, nullptr), "ncclCommSplit");
    int expected = 0;
    for (int other = rank % 2; other < ranks; other += 2) expected += other;
    expect_sum(half, rank, expected);
    expect_sum(comm, rank, ranks * (ranks - 1) / 2);
    need(ncclCommDestroy(half), "ncclCommDestroy");
    need(ncclCommDestroy(comm), "ncclCommDestroy");
    page.meet(ranks);
  });
  processes.expect_fine();
}

TEST_P(ChildrenOfProcesses, SplitWithSharedTransports) {
  const Environment environment(Settings{{"NCCL_COMM_SPLIT_SHARE_RESOURCES", "1"}});
  const int ranks = GetParam();
  Processes processes(ranks, [&](int rank, SharedPage& page) {
    ncclComm_t comm = nullptr;
    need(ncclCommInitRank(&comm, ranks, page.id, rank), "ncclCommInitRank");
    ncclComm_t turned = nullptr;
    need(ncclCommSplit(comm, 0, -rank, &turned, nullptr), "ncclCommSplit");
    for (int i = 0; i < 10; ++i) {
      expect_sum(turned, rank, ranks * (ranks - 1) / 2);
      expect_sum(comm, 1, ranks);
    }
    need(ncclCommDestroy(comm), "ncclCommDestroy");
    expect_sum(turned, rank, ranks * (ranks - 1) / 2);
    need(ncclCommDestroy(turned), "ncclCommDestroy");
    page.meet(ranks);
  });
  processes.expect_fine();
}

INSTANTIATE_TEST_SUITE_P(RankCounts, ChildrenOfProcesses, ::testing::Values(2, 3, 5, 9));

TEST(ShrinkOfProcesses, GoesOnWithoutARankThatWasKilled) {
  for (const int dead : {0, 2}) {
    const int ranks = 5;
    Processes processes(ranks, [&](int rank, SharedPage& page) {
      ncclComm_t comm = nullptr;
      need(ncclCommInitRank(&comm, ranks, page.id, rank), "ncclCommInitRank");
      expect_sum(comm, rank, 10);
      page.meet(ranks);
      if (rank == dead) std::this_thread::sleep_for(std::chrono::seconds(60));
      int value = 1;
      need(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr) != ncclSuccess,
           "a sum with a dead rank succeeded");
      int excluded[] = {dead};
      ncclComm_t rest = nullptr;
      need(ncclCommShrink(comm, excluded, 1, &rest, nullptr, NCCL_SHRINK_ABORT), "ncclCommShrink");
      expect_sum(rest, rank, 10 - dead);
      need(ncclCommDestroy(rest), "ncclCommDestroy");
      need(ncclCommAbort(comm), "ncclCommAbort");
      page.meet(2 * ranks - 1);
    });
    SharedPage::wait_for(processes.page().arrived, ranks);
    processes.kill_rank(dead);
    processes.expect_fine();
  }
}

TEST(GrowOfProcesses, NewOnesCome) {
  const int old_ranks = 3;
  const int ranks = 5;
  Processes processes(ranks, [&](int rank, SharedPage& page) {
    ncclComm_t parent = nullptr;
    ncclComm_t grown = nullptr;
    if (rank < old_ranks) {
      need(ncclCommInitRank(&parent, old_ranks, page.id, rank), "ncclCommInitRank");
      if (rank == 1) {
        need(ncclCommGetUniqueId(parent, &page.second_id), "ncclCommGetUniqueId");
        page.second_ready = 1;
      }
      need(ncclCommGrow(parent, ranks, rank == 1 ? &page.second_id : nullptr, -1, &grown, nullptr),
           "ncclCommGrow");
      need(ncclCommDestroy(parent), "ncclCommDestroy");
    } else {
      SharedPage::wait_for(page.second_ready, 1);
      need(ncclCommGrow(nullptr, ranks, &page.second_id, rank, &grown, nullptr), "ncclCommGrow");
    }
    expect_sum(grown, rank, 10);
    need(ncclCommDestroy(grown), "ncclCommDestroy");
    page.meet(ranks);
  });
  processes.expect_fine();
}

TEST(Fork, BeforeInitIsFineAlsoWhenTheParentMadeTheId) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  Processes processes(3, [&](int rank, SharedPage& page) {
    ncclComm_t comm = nullptr;
    need(ncclCommInitRank(&comm, 3, id, rank), "ncclCommInitRank");
    expect_sum(comm, rank, 3);
    need(ncclCommDestroy(comm), "ncclCommDestroy");
    page.meet(3);
  });
  processes.expect_fine();
}

TEST(Fork, ACommunicatorStaysWithTheProcessThatMadeIt) {
  run_world(1, {}, [](int, ncclComm_t comm) {
    Processes processes(1, [&](int, SharedPage&) {
      int value = 1;
      need(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), "a call in a fork",
           ncclInvalidUsage);
      need(std::string(ncclGetLastError(nullptr)).find("is a fork") != std::string::npos,
           "the sentence does not speak of a fork");
    });
    processes.expect_fine();
  });
}

}  // namespace
}  // namespace strait::test
