#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "base/fd.hpp"
#include "bootstrap_ranks.hpp"
#include "comm/bootstrap_wire.hpp"
#include "transport/net/dial.hpp"

namespace strait {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kPromptMs = 3'000;

class BootstrapFault : public ::testing::Test {
 protected:
  void SetUp() override {
    auto id = make_unique_id(loopback_config());
    ASSERT_TRUE(id.ok()) << id.status().message();
    id_ = *id;
  }

  Joined join(int rank, int rank_count, int64_t ms = 10'000) const {
    return join_as(rank, rank_count, plain_hello(rank), ms);
  }
  Joined join_as(int rank, int rank_count, const Hello& hello, int64_t ms = 10'000) const {
    return Bootstrap::join({id_, rank, rank_count}, loopback_config(), hello,
                           Deadline::after_ms(ms));
  }

  // Every rank fails promptly with a sentence that fits.
  template <class Matcher>
  void expect_all_fail(const std::vector<Status>& results, const Matcher& matcher) {
    EXPECT_LT(now_ns() - start_ns_, kPromptMs * 1'000'000);
    for (const Status& status : results) {
      EXPECT_FALSE(status.ok());
      EXPECT_THAT(status.message(), matcher);
    }
  }

  UniqueId id_;
  int64_t start_ns_ = now_ns();
};

TEST_F(BootstrapFault, TwinRank) {
  const auto results = run_ranks(3, [&](int thread) { return join(thread / 2, 3).status(); });
  expect_all_fail(results, AllOf(HasSubstr("rank 0 joined twice"), HasSubstr("process")));
}

TEST_F(BootstrapFault, DifferentRankCounts) {
  const auto results =
      run_ranks(2, [&](int rank) { return join(rank, rank == 0 ? 3 : 4).status(); });
  expect_all_fail(results, AllOf(HasSubstr("was given 3"), HasSubstr("was given 4")));
}

TEST_F(BootstrapFault, DifferentSettings) {
  const auto results = run_ranks(3, [&](int rank) {
    Hello hello = plain_hello(rank);
    if (rank == 2) hello.settings["SLOTS"] = "16";
    return join_as(rank, 4, hello).status();
  });
  expect_all_fail(results,
                  AllOf(HasSubstr("STRAIT_SLOTS is"), HasSubstr("rank 2"), HasSubstr("16")));
}

TEST_F(BootstrapFault, DifferentVersions) {
  const auto results = run_ranks(2, [&](int rank) {
    Hello hello = plain_hello(rank);
    if (rank == 1) hello.version = "9.9.9";
    return join_as(rank, 2, hello).status();
  });
  expect_all_fail(results, AllOf(HasSubstr("0.1.0"), HasSubstr("9.9.9")));
}

TEST_F(BootstrapFault, RankOutOfRangeFailsTheOthersToo) {
  const auto results = run_ranks(2, [&](int rank) { return join(rank == 0 ? 0 : 7, 2).status(); });
  expect_all_fail(results, AllOf(HasSubstr("rank 7"), HasSubstr("out of range")));
}

TEST_F(BootstrapFault, ReportedFailureReachesThoseThatWaitAndThoseThatCome) {
  const auto results = run_ranks(3, [&](int rank) -> Status {
    if (rank == 1) {
      const Status why = error(Code::kSystemError, "no memory for links");
      report_failure({id_, rank, 0}, why);
      return why;
    }
    if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return join(rank, 3).status();
  });
  expect_all_fail(results, HasSubstr("no memory for links"));
  EXPECT_THAT(results[0].message(), HasSubstr("rank 1"));
  EXPECT_TRUE(root_gone(id_));
}

TEST_F(BootstrapFault, MissingRanksAreNamedAtTheDeadline) {
  const auto results = run_ranks(2, [&](int thread) { return join(thread * 2, 4, 400).status(); });
  for (const Status& status : results) {
    EXPECT_EQ(status.code(), Code::kTimeout);
    EXPECT_THAT(status.message(), HasSubstr("ranks 1, 3 of 4 did not arrive within"));
  }
  const auto late = join(1, 4);
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.status().message(), HasSubstr("did not arrive"));
}

TEST_F(BootstrapFault, RankThatLeavesFailsTheNextRoundOfTheOthers) {
  const auto results = run_ranks(3, [&](int rank) -> Status {
    STRAIT_ASSIGN(auto bootstrap, join(rank, 3));
    if (rank == 2) return error(Code::kInternalError, "rank 2 leaves on purpose");
    return bootstrap->barrier(Deadline::after_ms(10'000));
  });
  expect_all_fail(results, HasSubstr("rank 2"));
  EXPECT_TRUE(root_gone(id_));
}

TEST_F(BootstrapFault, FailureAfterJoiningReachesTheOthersInTheirRound) {
  const auto results = run_ranks(3, [&](int rank) -> Status {
    STRAIT_ASSIGN(auto bootstrap, join(rank, 3));
    if (rank == 2) {
      const Status why = error(Code::kSystemError, "the link to rank 0 cannot be opened");
      bootstrap->fail(why);
      return why;
    }
    return bootstrap->barrier(Deadline::after_ms(10'000));
  });
  expect_all_fail(results, HasSubstr("the link to rank 0 cannot be opened"));
}

TEST_F(BootstrapFault, SilentRankIsNamedAtTheRoundsDeadline) {
  std::promise<void> over;
  auto is_over = over.get_future().share();
  const auto results = run_ranks(3, [&](int rank) -> Status {
    STRAIT_ASSIGN(auto bootstrap, join(rank, 3));
    if (rank == 1) {
      is_over.wait();
      return error(Code::kTimeout, "rank 1 of 3 did not come to round 1");
    }
    const Status status = bootstrap->barrier(Deadline::after_ms(300));
    if (rank == 0) over.set_value();
    return status;
  });
  expect_all_fail(results, HasSubstr("rank 1 of 3 did not come to round 1"));
}

TEST_F(BootstrapFault, LatecomerWithATakenNumberHarmsOnlyItself) {
  const auto results = run_ranks(2, [&](int rank) -> Status {
    STRAIT_ASSIGN(auto bootstrap, join(rank, 2));
    STRAIT_TRY(bootstrap->barrier(Deadline::after_ms(10'000)));
    if (rank == 0) {
      const auto twin = join(1, 2);
      EXPECT_THAT(twin.status().message(), HasSubstr("rank 1 joined twice"));
    }
    return bootstrap->barrier(Deadline::after_ms(10'000));
  });
  for (const Status& status : results) EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(BootstrapFault, StrangersDisturbNobody) {
  sockaddr_storage storage;
  const socklen_t length = id_.addresses.front().to(&storage);
  std::vector<UniqueFd> strangers;
  for (std::string_view words :
       {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x02", "", "rtait"}) {
    strangers.emplace_back(socket(storage.ss_family, SOCK_STREAM, 0));
    ASSERT_EQ(connect(strangers.back().get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
    if (!words.empty()) {
      ASSERT_EQ(send(strangers.back().get(), words.data(), words.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(words.size()));
    }
  }
  const auto results = run_ranks(2, [&](int rank) -> Status {
    STRAIT_ASSIGN(auto bootstrap, join(rank, 2));
    return bootstrap->barrier(Deadline::after_ms(10'000));
  });
  for (const Status& status : results) EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_LT(now_ns() - start_ns_, kPromptMs * 1'000'000);
  char byte = 0;  // the HTTP client was shown the door already
  EXPECT_LE(recv(strangers[0].get(), &byte, 1, 0), 0);
}

TEST_F(BootstrapFault, WrongSecretIsKeptOut) {
  UniqueId forged = id_;
  forged.secret[5] ^= std::byte{1};
  // A forger may know the number under which the root is found, but not the secret.
  const auto connection = net::dial({.candidates = id_.addresses,
                                     .service = {id_.root_key(), net::Service::kBootstrap, 0},
                                     .from = 1,
                                     .note = {}},
                                    forged.secret, Deadline::after_ms(5'000));
  ASSERT_FALSE(connection.ok());
  EXPECT_THAT(connection.status().message(), HasSubstr("does not know the communicator's secret"));
  const auto results = run_ranks(2, [&](int rank) { return join(rank, 2).status(); });
  for (const Status& status : results) EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(BootstrapFault, UnknownCommunicatorFailsAtOnce) {
  const UniqueId other = UniqueId::random(id_.addresses);
  const auto joined =
      Bootstrap::join({other, 1, 2}, loopback_config(), plain_hello(1), Deadline::after_ms(10'000));
  ASSERT_FALSE(joined.ok());
  EXPECT_LT(now_ns() - start_ns_, kPromptMs * 1'000'000);
  EXPECT_THAT(joined.status().message(),
              AllOf(HasSubstr("rank 1 cannot reach"), HasSubstr("serves no such communicator")));
}

TEST_F(BootstrapFault, GarbageAfterTheHandshakeFailsTheCommunicatorWithASentence) {
  auto waiting = std::async(std::launch::async, [&] { return join(0, 2).status(); });
  auto connection = net::dial({.candidates = id_.addresses,
                               .service = {id_.root_key(), net::Service::kBootstrap, 0},
                               .from = 1,
                               .note = {}},
                              id_.secret, Deadline::after_ms(5'000));
  ASSERT_TRUE(connection.ok()) << connection.status().message();
  // A true join, then bytes that carry no valid hash.
  FrameChannel channel(UniqueFd(dup(connection->fd.get())), connection->session,
                       FrameChannel::End::kRank);
  Packer packer;
  packer.join_request({.rank = 1, .rank_count = 3, .limit_ms = 10'000, .hello = plain_hello(1)});
  ASSERT_TRUE(channel.send(FrameType::kJoin, packer.take()).ok());
  const std::vector<std::byte> garbage(100, std::byte{0});
  ASSERT_GT(send(connection->fd.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
  const Status status = waiting.get();
  EXPECT_FALSE(status.ok());
  EXPECT_LT(now_ns() - start_ns_, kPromptMs * 1'000'000);
  EXPECT_THAT(status.message(),
              ::testing::AnyOf(HasSubstr("was changed on its way"), HasSubstr("was given")));
}

}  // namespace
}  // namespace strait
