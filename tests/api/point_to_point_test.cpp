// Send and receive, alone and in groups with each other and with collectives.

#include <numeric>

#include "tests/api/world.hpp"

namespace strait::test {
namespace {

std::vector<int> numbers(int rank, size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), rank * 1000);
  return values;
}

TEST(PointToPoint, RingOfNeighboursInOneGroup) {
  for (const Settings& settings : {Settings{}, Settings{{"STRAIT_EMULATE_DOMAINS", "2"}}}) {
    run_world(5, settings, [](int rank, ncclComm_t comm) {
      for (const size_t count : {size_t{1}, size_t{200'000}}) {
        const std::vector<int> mine = numbers(rank, count);
        std::vector<int> theirs(count);
        ASSERT_EQ(ncclGroupStart(), ncclSuccess);
        ASSERT_EQ(ncclSend(mine.data(), count, ncclInt, (rank + 1) % 5, comm, nullptr),
                  ncclSuccess);
        ASSERT_EQ(ncclRecv(theirs.data(), count, ncclInt, (rank + 4) % 5, comm, nullptr),
                  ncclSuccess);
        ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
        ASSERT_EQ(theirs, numbers((rank + 4) % 5, count));
      }
    });
  }
}

TEST(PointToPoint, ManyToOnePeerMatchInOrder) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    std::vector<std::vector<int>> blocks(6);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (size_t i = 0; i < blocks.size(); ++i) {
      const size_t count = 1 + i * 50'000;
      blocks[i] = rank == 0 ? numbers(static_cast<int>(i), count) : std::vector<int>(count);
      if (rank == 0) {
        ASSERT_EQ(ncclSend(blocks[i].data(), count, ncclInt, 1, comm, nullptr), ncclSuccess);
      } else {
        ASSERT_EQ(ncclRecv(blocks[i].data(), count, ncclInt, 0, comm, nullptr), ncclSuccess);
      }
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
    for (size_t i = 0; i < blocks.size(); ++i)
      ASSERT_EQ(blocks[i], numbers(static_cast<int>(i), blocks[i].size()));
  });
}

TEST(PointToPoint, WithoutGroupAndOfZeroElements) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    double value = rank == 0 ? 2.5 : 0;
    ASSERT_EQ(ncclSend(nullptr, 0, ncclDouble, 1 - rank, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclRecv(nullptr, 0, ncclDouble, 1 - rank, comm, nullptr), ncclSuccess);
    if (rank == 0) {
      ASSERT_EQ(ncclSend(&value, 1, ncclDouble, 1, comm, nullptr), ncclSuccess);
    } else {
      ASSERT_EQ(ncclRecv(&value, 1, ncclDouble, 0, comm, nullptr), ncclSuccess);
    }
    EXPECT_EQ(value, 2.5);
  });
}

TEST(PointToPoint, OnlyBytesMustAgree) {
  constexpr size_t kCount = 100'003;
  for (const Settings& settings : {Settings{}, Settings{{"STRAIT_EMULATE_DOMAINS", "1"}}}) {
    run_world(2, settings, [](int rank, ncclComm_t comm) {
      std::vector<float> floats(kCount, 1.0F / 3);
      std::vector<float> bytes(kCount);
      if (rank == 0) {
        ASSERT_EQ(ncclSend(floats.data(), kCount, ncclFloat, 1, comm, nullptr), ncclSuccess);
      } else {
        ASSERT_EQ(ncclRecv(bytes.data(), 4 * kCount, ncclInt8, 0, comm, nullptr), ncclSuccess)
            << ncclGetLastError(comm);
        ASSERT_EQ(bytes, floats);
      }
    });
  }
}

TEST(PointToPoint, ToOneselfInAGroup) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    const std::vector<int> mine = numbers(rank, 100);
    std::vector<int> copy(100);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(ncclRecv(copy.data(), 100, ncclInt, rank, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclSend(mine.data(), 100, ncclInt, rank, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(copy, mine);
    EXPECT_EQ(ncclSend(mine.data(), 100, ncclInt, rank, comm, nullptr), ncclInvalidUsage);
  });
}

TEST(Groups, CollectivesAndMessagesTogetherInAnyOrder) {
  run_world(3, {}, [](int rank, ncclComm_t comm) {
    std::vector<int> sum(10'000, rank + 1);
    std::vector<int> message(10'000, rank);
    std::vector<int> arrived(10'000);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    if (rank != 1) {
      ASSERT_EQ(ncclAllReduce(sum.data(), sum.data(), sum.size(), ncclInt, ncclSum, comm, nullptr),
                ncclSuccess);
    }
    ASSERT_EQ(ncclSend(message.data(), message.size(), ncclInt, (rank + 1) % 3, comm, nullptr),
              ncclSuccess);
    ASSERT_EQ(ncclRecv(arrived.data(), arrived.size(), ncclInt, (rank + 2) % 3, comm, nullptr),
              ncclSuccess);
    if (rank == 1) {
      ASSERT_EQ(ncclAllReduce(sum.data(), sum.data(), sum.size(), ncclInt, ncclSum, comm, nullptr),
                ncclSuccess);
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(sum, std::vector<int>(10'000, 6));
    EXPECT_EQ(arrived, std::vector<int>(10'000, (rank + 2) % 3));
  });
}

TEST(Groups, OneThreadDrivesAllRanks) {
  constexpr int kRanks = 4;
  ncclComm_t comms[kRanks];
  ASSERT_EQ(ncclCommInitAll(comms, kRanks, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
  std::vector<std::vector<int>> values(kRanks, std::vector<int>(50'000, 1));
  for (int repeat = 0; repeat < 3; ++repeat) {
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int i = 0; i < kRanks; ++i)
      ASSERT_EQ(ncclAllReduce(values[i].data(), values[i].data(), values[i].size(), ncclInt,
                              ncclSum, comms[i], nullptr),
                ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  }
  for (int i = 0; i < kRanks; ++i) {
    EXPECT_EQ(values[i], std::vector<int>(50'000, 64));
    int rank = -1;
    int count = 0;
    int device = -1;
    EXPECT_EQ(ncclCommUserRank(comms[i], &rank), ncclSuccess);
    EXPECT_EQ(ncclCommCount(comms[i], &count), ncclSuccess);
    EXPECT_EQ(ncclCommCuDevice(comms[i], &device), ncclSuccess);
    EXPECT_EQ(rank, i);
    EXPECT_EQ(count, kRanks);
    EXPECT_EQ(device, i);
  }
  for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(Groups, NestAndRunAtTheOutermostEnd) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    int value = rank + 1;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(value, rank + 1) << "ran before the outermost end";
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(value, 3);
  });
}

TEST(Groups, ABadCallDropsTheGroupAndLeavesTheNextOneClean) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    int value = rank + 1;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclReduce(&value, &value, 1, ncclInt, ncclSum, 7, comm, nullptr),
              ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    EXPECT_EQ(value, rank + 1);
    ASSERT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(value, 3);
  });
}

TEST(Groups, EndWithoutStartIsRefused) {
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_STREQ(ncclGetLastError(nullptr),
               "ncclGroupEnd: ncclGroupEnd without ncclGroupStart on this thread: call "
               "ncclGroupStart first");
}

}  // namespace
}  // namespace strait::test
