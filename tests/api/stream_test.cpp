// Host streams: calls return at once, results come in stream order, failures stay on the
// communicator.

#include "strait.h"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

TEST(Streams, ResultsComeInStreamOrder) {
  run_world(3, {}, [](int rank, ncclComm_t comm) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(straitStreamCreate(&stream), ncclSuccess);
    std::vector<int64_t> values(20'000, rank);
    for (int i = 0; i < 10; ++i)
      ASSERT_EQ(ncclAllReduce(values.data(), values.data(), values.size(), ncclInt64, ncclSum, comm,
                              stream),
                ncclSuccess);
    ASSERT_EQ(straitStreamSynchronize(stream), ncclSuccess);
    int64_t expected = 3;  // 0 + 1 + 2, then times 3 nine times
    for (int i = 0; i < 9; ++i) expected *= 3;
    EXPECT_EQ(values, std::vector<int64_t>(20'000, expected));
    EXPECT_EQ(straitStreamQuery(stream), ncclSuccess);
    EXPECT_EQ(straitStreamDestroy(stream), ncclSuccess);
  });
}

TEST(Streams, TwoStreamsOfOneCommunicatorKeepTheCallOrder) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    cudaStream_t streams[2] = {};
    for (cudaStream_t& stream : streams) ASSERT_EQ(straitStreamCreate(&stream), ncclSuccess);
    std::vector<std::vector<int>> values(8, std::vector<int>(5'000, rank + 1));
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(ncclAllReduce(values[i].data(), values[i].data(), values[i].size(), ncclInt,
                              ncclSum, comm, streams[i % 2]),
                ncclSuccess);
    for (cudaStream_t stream : streams) {
      ASSERT_EQ(straitStreamSynchronize(stream), ncclSuccess);
      ASSERT_EQ(straitStreamDestroy(stream), ncclSuccess);
    }
    for (const auto& block : values) EXPECT_EQ(block, std::vector<int>(5'000, 3));
  });
}

TEST(Streams, AGroupOverSeveralStreamsIsOneBatch) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    cudaStream_t streams[2] = {};
    for (cudaStream_t& stream : streams) ASSERT_EQ(straitStreamCreate(&stream), ncclSuccess);
    std::vector<int> first(1'000, rank + 1);
    std::vector<int> second(1'000, rank + 2);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(ncclAllReduce(first.data(), first.data(), 1'000, ncclInt, ncclSum, comm, streams[0]),
              ncclSuccess);
    ASSERT_EQ(
        ncclAllReduce(second.data(), second.data(), 1'000, ncclInt, ncclSum, comm, streams[1]),
        ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    for (cudaStream_t stream : streams) {
      ASSERT_EQ(straitStreamSynchronize(stream), ncclSuccess);
      ASSERT_EQ(straitStreamDestroy(stream), ncclSuccess);
    }
    EXPECT_EQ(first, std::vector<int>(1'000, 3));
    EXPECT_EQ(second, std::vector<int>(1'000, 5));
  });
}

TEST(Streams, AHandleThatIsNoStreamIsRefused) {
  run_world(1, {}, [](int, ncclComm_t comm) {
    int value = 1;
    int garbage = 0;
    const auto invented = reinterpret_cast<cudaStream_t>(&garbage);
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, invented),
              ncclInvalidArgument);
    EXPECT_EQ(straitStreamSynchronize(invented), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
  });
}

}  // namespace
}  // namespace strait::test
