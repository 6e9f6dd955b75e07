// A rank whose part in making a communicator from another is refused tells the others, who would
// wait for it; the parent stays as good as before, and the next attempt finds all ranks in step.
#include <gmock/gmock.h>

#include <barrier>
#include <chrono>

#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kRanks = 3;

int sum_of_ones(ncclComm_t comm) {
  int value = 1;
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess)
      << ncclGetLastError(comm);
  return value;
}

// `make` makes a child, rightly or in a way that is refused. The refused rank is each one in turn.
void refuse_in_turn(const std::function<ncclResult_t(ncclComm_t, ncclComm_t*, bool wrong)>& make,
                    const std::string& reason) {
  std::barrier together(kRanks);
  std::mutex texts;  // the last error is the process's
  run_world(kRanks, {{"STRAIT_INIT_TIMEOUT_MS", "20000"}}, [&](int rank, ncclComm_t comm) {
    for (int refused = 0; refused < kRanks; ++refused) {
      ncclComm_t child = nullptr;
      const auto begin = std::chrono::steady_clock::now();
      const ncclResult_t result = make(comm, &child, rank == refused);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
      if (rank == refused) {
        EXPECT_EQ(result, ncclInvalidArgument);
      } else {
        EXPECT_NE(result, ncclSuccess);
      }
      EXPECT_EQ(child, nullptr);
      together.arrive_and_wait();
      {
        std::lock_guard lock(texts);
        EXPECT_THAT(ncclGetLastError(comm), HasSubstr(reason));
      }
      together.arrive_and_wait();
      ASSERT_EQ(make(comm, &child, false), ncclSuccess) << ncclGetLastError(comm);
      EXPECT_EQ(sum_of_ones(child), kRanks);
      EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
      EXPECT_EQ(sum_of_ones(comm), kRanks);
    }
  });
}

ncclConfig_t config(bool wrong) {
  ncclConfig_t made = NCCL_CONFIG_INITIALIZER;
  if (wrong) made.minCTAs = -7;
  return made;
}

TEST(RefusedChildren, OfASplitByAWrongColorAreTold) {
  refuse_in_turn([](ncclComm_t comm, ncclComm_t* child,
                    bool wrong) { return ncclCommSplit(comm, wrong ? -5 : 0, 0, child, nullptr); },
                 "color -5 is negative");
}

TEST(RefusedChildren, OfASplitByAWrongConfigAreTold) {
  refuse_in_turn(
      [](ncclComm_t comm, ncclComm_t* child, bool wrong) {
        ncclConfig_t own = config(wrong);
        return ncclCommSplit(comm, 0, 0, child, &own);
      },
      "minCTAs");
}

TEST(RefusedChildren, OfAShrinkByAWrongConfigAreTold) {
  std::barrier together(2);
  run_world(kRanks, {{"STRAIT_INIT_TIMEOUT_MS", "20000"}}, [&](int rank, ncclComm_t comm) {
    if (rank == 2) return;
    int excluded = 2;
    for (int refused = 0; refused < 2; ++refused) {
      ncclComm_t child = nullptr;
      ncclConfig_t own = config(rank == refused);
      EXPECT_NE(ncclCommShrink(comm, &excluded, 1, &child, &own, NCCL_SHRINK_DEFAULT), ncclSuccess);
      together.arrive_and_wait();
      EXPECT_THAT(ncclGetLastError(comm), HasSubstr("minCTAs"));
      together.arrive_and_wait();
      ASSERT_EQ(ncclCommShrink(comm, &excluded, 1, &child, nullptr, NCCL_SHRINK_DEFAULT),
                ncclSuccess)
          << ncclGetLastError(comm);
      EXPECT_EQ(sum_of_ones(child), 2);
      EXPECT_EQ(ncclCommDestroy(child), ncclSuccess);
    }
  });
}

}  // namespace
}  // namespace strait::test
