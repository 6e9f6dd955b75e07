// straitCommGetPeerStats: what went from one rank to one other between domains.

#include <gmock/gmock.h>

#include "api/world.hpp"
#include "strait.h"

namespace strait::test {
namespace {

straitPeerStats_t stats_of(ncclComm_t comm, int peer) {
  straitPeerStats_t stats{};
  stats.size = sizeof stats;
  EXPECT_EQ(straitCommGetPeerStats(comm, peer, &stats), ncclSuccess) << ncclGetLastError(comm);
  return stats;
}

TEST(PeerStats, CountOnePeerInAnotherDomain) {
  constexpr size_t kCount = 5000;
  run_world(4, {{"STRAIT_EMULATE_DOMAINS", "2"}}, [&](int rank, ncclComm_t comm) {
    std::vector<float> data(kCount, static_cast<float>(rank));
    // Rank 0 sends to its neighbour and to rank 2, over the border.
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (const int peer : {1, 2}) {
      if (rank == 0) {
        ASSERT_EQ(ncclSend(data.data(), kCount, ncclFloat, peer, comm, nullptr), ncclSuccess);
      }
      if (rank == peer) {
        ASSERT_EQ(ncclRecv(data.data(), kCount, ncclFloat, 0, comm, nullptr), ncclSuccess);
      }
    }
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
    for (int peer = 0; peer < 4; ++peer) {
      const straitPeerStats_t stats = stats_of(comm, peer);
      const bool crossed = rank == 0 && peer == 2;
      EXPECT_EQ(stats.coded_value_bytes_sent, crossed ? kCount * sizeof(float) : 0);
      EXPECT_EQ(stats.coded_wire_bytes_sent > 0, crossed);
    }
  });
}

// Of one rank: the last error is the whole process's.
TEST(PeerStats, RefuseBadArguments) {
  run_world(1, {}, [&](int, ncclComm_t comm) {
    straitPeerStats_t stats{};
    stats.size = sizeof stats;
    for (const int peer : {-1, 1}) {
      EXPECT_EQ(straitCommGetPeerStats(comm, peer, &stats), ncclInvalidArgument);
      EXPECT_THAT(ncclGetLastError(comm), testing::HasSubstr("is not among the 1 ranks"));
    }
    stats.size = 0;
    EXPECT_EQ(straitCommGetPeerStats(comm, 0, &stats), ncclInvalidArgument);
    EXPECT_EQ(straitCommGetPeerStats(comm, 0, nullptr), ncclInvalidArgument);
    EXPECT_EQ(straitCommGetPeerStats(nullptr, 0, &stats), ncclInvalidArgument);
  });
}

// A struct of an older, shorter header: no byte beyond it is written.
TEST(PeerStats, WriteNoMoreThanTheyAreGivenRoomFor) {
  run_world(1, {}, [&](int, ncclComm_t comm) {
    straitPeerStats_t stats{};
    stats.size = sizeof(size_t) + sizeof(uint64_t);
    stats.coded_wire_bytes_sent = 77;
    ASSERT_EQ(straitCommGetPeerStats(comm, 0, &stats), ncclSuccess);
    EXPECT_EQ(stats.coded_wire_bytes_sent, 77u);
  });
}

}  // namespace
}  // namespace strait::test
