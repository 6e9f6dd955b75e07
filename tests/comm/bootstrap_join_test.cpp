#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "bootstrap_ranks.hpp"

namespace strait {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class BootstrapJoin : public ::testing::TestWithParam<int> {};

TEST_P(BootstrapJoin, EveryRankLearnsOfEveryOther) {
  const int rank_count = GetParam();
  const auto id = make_unique_id(loopback_config());
  ASSERT_TRUE(id.ok()) << id.status().message();
  std::vector<uint64_t> keys(static_cast<size_t>(rank_count));
  std::vector<Secret> secrets(static_cast<size_t>(rank_count));
  const auto results = run_ranks(rank_count, [&](int rank) -> Status {
    STRAIT_ASSIGN(auto bootstrap, Bootstrap::join({*id, rank, rank_count}, loopback_config(),
                                                  plain_hello(rank), Deadline::after_ms(10'000)));
    for (int other = 0; other < rank_count; ++other)
      EXPECT_EQ(bootstrap->hellos()[static_cast<size_t>(other)], plain_hello(other));
    keys[static_cast<size_t>(rank)] = bootstrap->comm_key();
    secrets[static_cast<size_t>(rank)] = bootstrap->transport_secret();
    for (int round = 0; round < 3; ++round) {
      const std::vector<std::byte> mine(static_cast<size_t>(rank * 1000 + round), std::byte(rank));
      STRAIT_ASSIGN(const auto all, bootstrap->all_gather(mine, Deadline::after_ms(10'000)));
      for (int other = 0; other < rank_count; ++other) {
        const auto& theirs = all[static_cast<size_t>(other)];
        EXPECT_EQ(theirs.size(), static_cast<size_t>(other * 1000 + round));
        if (!theirs.empty()) {
          EXPECT_EQ(theirs.back(), std::byte(other));
        }
      }
    }
    return bootstrap->barrier(Deadline::after_ms(10'000));
  });
  for (const Status& status : results) EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), 1u);
  EXPECT_EQ(std::set(secrets.begin(), secrets.end()).size(), 1u);
  EXPECT_TRUE(root_gone(*id));
}

INSTANTIATE_TEST_SUITE_P(RankCounts, BootstrapJoin, ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9));

// A message larger than the socket's buffers takes many turns at the root.
TEST(Bootstrap, LargeRoundsArriveWhole) {
  const auto id = make_unique_id(loopback_config());
  ASSERT_TRUE(id.ok());
  const auto results = run_ranks(3, [&](int rank) -> Status {
    STRAIT_ASSIGN(auto bootstrap, Bootstrap::join({*id, rank, 3}, loopback_config(),
                                                  plain_hello(rank), Deadline::after_ms(20'000)));
    const std::vector<std::byte> mine(size_t{4} << 20, std::byte(rank + 1));
    STRAIT_ASSIGN(const auto all, bootstrap->all_gather(mine, Deadline::after_ms(20'000)));
    for (size_t other = 0; other < 3; ++other)
      EXPECT_EQ(all[other], std::vector<std::byte>(mine.size(), std::byte(other + 1)));
    return Status();
  });
  for (const Status& status : results) EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Bootstrap, SeveralCommunicatorsAtOnceDoNotMix) {
  constexpr int kCommunicators = 5;
  std::vector<UniqueId> ids;
  for (int i = 0; i < kCommunicators; ++i) {
    auto id = make_unique_id(loopback_config());
    ASSERT_TRUE(id.ok());
    ids.push_back(*id);
  }
  std::vector<uint64_t> keys(kCommunicators);
  const auto results = run_ranks(kCommunicators * 2, [&](int thread) -> Status {
    const auto which = static_cast<size_t>(thread / 2);
    STRAIT_ASSIGN(auto bootstrap, Bootstrap::join({ids[which], thread % 2, 2}, loopback_config(),
                                                  plain_hello(thread), Deadline::after_ms(10'000)));
    EXPECT_EQ(bootstrap->hellos()[static_cast<size_t>(1 - thread % 2)], plain_hello(thread ^ 1));
    if (thread % 2 == 0) keys[which] = bootstrap->comm_key();
    return bootstrap->barrier(Deadline::after_ms(10'000));
  });
  for (const Status& status : results) EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), ids.size());
  for (const UniqueId& id : ids) EXPECT_TRUE(root_gone(id));
}

TEST(Bootstrap, Ipv6LoopbackWorks) {
  Config config = loopback_config();
  config.socket_family = "AF_INET6";
  const auto id = make_unique_id(config);
  if (!id.ok()) GTEST_SKIP() << "no IPv6 here: " << id.status().message();
  EXPECT_EQ(id->addresses.front().family, AF_INET6);
  const auto results = run_ranks(2, [&](int rank) {
    return Bootstrap::join({*id, rank, 2}, config, plain_hello(rank), Deadline::after_ms(10'000))
        .status();
  });
  for (const Status& status : results) EXPECT_TRUE(status.ok()) << status.message();
}

Config meeting_config(uint16_t port) {
  Config config = loopback_config();
  config.comm_id = fmt::format("127.0.0.1:{}", port);
  return config;
}

TEST(Bootstrap, FixedMeetingPointServesOneCommunicatorAfterAnother) {
  const Config config = meeting_config(static_cast<uint16_t>(10'000 + getpid() % 7'000));
  std::vector<uint64_t> keys;
  std::vector<std::unique_ptr<Bootstrap>> kept;  // the earlier communicators live on
  for (int attempt = 0; attempt < 2; ++attempt) {
    uint64_t key = 0;
    std::vector<std::unique_ptr<Bootstrap>> joined(3);
    const auto results = run_ranks(3, [&](int rank) -> Status {
      // Rank 0 comes last: the others find nobody at the meeting point at first.
      if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(200));
      STRAIT_ASSIGN(const UniqueId id, make_unique_id(config));
      STRAIT_ASSIGN(
          joined[static_cast<size_t>(rank)],
          Bootstrap::join({id, rank, 3}, config, plain_hello(rank), Deadline::after_ms(10'000)));
      if (rank == 0) key = joined[0]->comm_key();
      return joined[static_cast<size_t>(rank)]->barrier(Deadline::after_ms(10'000));
    });
    for (const Status& status : results) ASSERT_TRUE(status.ok()) << status.message();
    keys.push_back(key);
    for (auto& one : joined) kept.push_back(std::move(one));
  }
  EXPECT_NE(keys[0], keys[1]);
  kept.clear();
  EXPECT_TRUE(root_gone(make_unique_id(config).value()));
}

TEST(Bootstrap, FixedMeetingPointCanBeTriedAgainAfterAFailure) {
  const Config config = meeting_config(static_cast<uint16_t>(17'000 + getpid() % 7'000));
  const auto id = make_unique_id(config);
  ASSERT_TRUE(id.ok());
  const auto alone = Bootstrap::join({*id, 0, 2}, config, plain_hello(0), Deadline::after_ms(200));
  ASSERT_FALSE(alone.ok());
  EXPECT_THAT(alone.status().message(), HasSubstr("rank 1 of 2 did not arrive within"));
  const auto results = run_ranks(2, [&](int rank) {
    // Rank 1 must not meet the first attempt's verdict.
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return Bootstrap::join({*id, rank, 2}, config, plain_hello(rank), Deadline::after_ms(10'000))
        .status();
  });
  for (const Status& status : results) EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Bootstrap, MeetingPointOnAnotherHostIsExplained) {
  Config config = loopback_config();
  config.comm_id = "203.0.113.7:4000";  // an address for documentation, never ours
  const auto id = make_unique_id(config);
  ASSERT_TRUE(id.ok());
  const auto joined =
      Bootstrap::join({*id, 0, 2}, config, plain_hello(0), Deadline::after_ms(2'000));
  ASSERT_FALSE(joined.ok());
  EXPECT_THAT(joined.status().message(),
              AllOf(HasSubstr("STRAIT_COMM_ID"), HasSubstr("203.0.113.7")));
}

TEST(Bootstrap, PortRangeHoldsTheRoot) {
  Config config = loopback_config();
  const int first = 24'000 + getpid() % 7'000;
  config.port_range = fmt::format("{}-{}", first, first + 20);
  const auto id = make_unique_id(config);
  ASSERT_TRUE(id.ok()) << id.status().message();
  EXPECT_GE(id->addresses.front().port, first);
  EXPECT_LE(id->addresses.front().port, first + 20);
  EXPECT_TRUE(Bootstrap::join({*id, 0, 1}, config, plain_hello(0), Deadline::after_ms(5'000)).ok());
}

}  // namespace
}  // namespace strait
