// What is UCX's own: a library that may be absent, addresses that cannot be trusted, a process that
// is left as it was, peers that die.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "transport/child_process.hpp"
#include "transport/net/tls.hpp"
#include "transport/test_ranks.hpp"
#include "transport/ucx/ucx.hpp"

#if __has_include(<ucp/api/ucp.h>)

namespace strait::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

constexpr LinkSpec kThere{.source = 0, .destination = 1, .lane = 0, .slots = 3, .slot_bytes = 5000};
constexpr LinkSpec kBack{.source = 1, .destination = 0, .lane = 0, .slots = 3, .slot_bytes = 5000};

TEST(UcxLink, WithoutTheLibraryReachesNobody) {
  const TestRank rank(
      [](const TransportContext& context) { return open_ucx_of(context, "libnowhere.so.0"); }, 0);
  Transport& ucx = const_cast<TestRank&>(rank).transport();
  EXPECT_EQ(ucx.address(), "");
  EXPECT_THAT(ucx.reach(3, "", soon()).message(),
              AllOf(HasSubstr("rank 3 is not reached by UCX"), HasSubstr("libnowhere.so.0"),
                    HasSubstr("install libucx0")));
  EXPECT_FALSE(ucx.connect("", kThere, soon()).ok());
}

TEST(UcxLink, AnotherLibraryIsTold) {
  TestRank rank([](const TransportContext& context) { return open_ucx_of(context, "libc.so.6"); },
                0);
  EXPECT_THAT(rank.transport().reach(1, "", soon()).message(),
              AllOf(HasSubstr("libc.so.6 has no "), HasSubstr("install UCX")));
}

TEST(UcxLink, ARankWithoutUcxIsNotReached) {
  TestRank rank(open_ucx, 0);
  EXPECT_THAT(rank.transport().reach(1, "", soon()).message(), HasSubstr("rank 1 has no UCX"));
}

// Each byte of an address counts: what UCX parses is what a rank of this communicator wrote.
TEST(UcxLink, ChangedAddressesAreNotTrusted) {
  TestRank zero(open_ucx, 0);
  TestRank one(open_ucx, 1);
  const std::string address = one.transport().address();
  const size_t bar = address.find('|');
  ASSERT_NE(bar, address.npos);
  std::vector<std::string> wrong = {address.substr(0, bar), address.substr(0, bar + 1),
                                    address.substr(0, address.size() - 2), address + "00",
                                    address + "0"};
  for (size_t i = bar + 1; i < address.size(); i += 37) {
    wrong.push_back(address);
    wrong.back()[i] = wrong.back()[i] == '0' ? '1' : '0';
  }
  for (const std::string& text : wrong)
    EXPECT_THAT(zero.transport().reach(1, text, soon()).message(),
                HasSubstr("rank 1 gave no UCX address that can be trusted"));
  EXPECT_TRUE(zero.transport().reach(1, address, soon()).ok());
}

TEST(UcxLink, RefusesToCarryWhatIsToBeEncrypted) {
  TestRank zero(open_ucx, 0);
  auto key = net::TlsKey::make("a key of thirty-two bytes or more");
  if (!key.ok()) GTEST_SKIP() << key.status().message();
  net::set_process_key(*key);
  const Status status = zero.transport().reach(1, "", soon());
  net::set_process_key(nullptr);
  EXPECT_THAT(status.message(), HasSubstr("does not encrypt"));
}

// In a process of its own, in which nothing has opened UCX before.
int look_at_what_ucx_changes(const Channel& parent) {
  const auto* const code = reinterpret_cast<const char*>(dlsym(RTLD_DEFAULT, "munmap"));
  char before[16];
  std::memcpy(before, code, sizeof before);
  {
    TestRank rank(open_ucx, 1);
    if (rank.transport().address().empty()) return 2;
  }
  if (std::memcmp(before, code, sizeof before) != 0) return 3;
  for (const int number : {SIGHUP, SIGILL, SIGBUS, SIGFPE, SIGSEGV}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_DFL) return 4;
  }
  if (std::getenv("UCX_MEM_EVENTS") != nullptr) return 5;
  parent.send("unchanged");
  return 0;
}

TEST(UcxProcess, IsLeftAsItWas) {
  for (const int number : {SIGHUP, SIGILL, SIGBUS, SIGFPE, SIGSEGV}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_DFL) GTEST_SKIP() << "something handles signal " << number;
  }
  ChildProcess child(look_at_what_ucx_changes);
  EXPECT_EQ(child.channel().receive(), "unchanged");
  EXPECT_EQ(child.exit_code(), 0);
}

// The child's rank, after it has exchanged addresses with the parent.
struct ChildRank {
  explicit ChildRank(const Channel& parent) : rank(open_ucx, 1) {
    parent.send(rank.transport().address());
    peer = parent.receive();
  }
  TestRank rank;
  std::string peer;
};

std::string exchange(TestRank& zero, const ChildProcess& child) {
  child.channel().send(zero.transport().address());
  return child.channel().receive();
}

int sit_still(const Channel& parent) {
  ChildRank child(parent);
  auto send = child.rank.transport().connect(child.peer, kBack, soon());
  auto recv = child.rank.transport().accept(child.peer, kThere, soon());
  if (!recv.ok() || !send.ok()) return 2;
  send_numbered(child.rank, **send, 1, 100);
  send_numbered(child.rank, **send, 2, 5000);
  parent.send("ready");
  pause();
  return 0;
}

TEST(UcxProcess, DeathIsToldToBothEnds) {
  ChildProcess child(sit_still);
  TestRank zero(open_ucx, 0);
  const std::string peer = exchange(zero, child);
  auto send = zero.transport().connect(peer, kThere, soon());
  ASSERT_TRUE(send.ok()) << send.status().message();
  auto recv = zero.transport().accept(peer, kBack, soon());
  ASSERT_TRUE(recv.ok()) << recv.status().message();
  ASSERT_EQ(child.channel().receive(), "ready");
  EXPECT_TRUE(receive_numbered(zero, **recv, 1, 100));
  EXPECT_TRUE(receive_numbered(zero, **recv, 2, 5000));
  EXPECT_TRUE((*send)->status().ok());
  const int64_t start_ns = now_ns();
  child.kill_now();
  ASSERT_TRUE(zero.wait_for([&] { return !(*send)->status().ok() && !(*recv)->status().ok(); }));
  EXPECT_LT(now_ns() - start_ns, 5'000'000'000);
  for (const Status& status : {(*send)->status(), (*recv)->status()})
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("rank 1"), AnyOf(HasSubstr("closed"), HasSubstr("not reached"))));
  EXPECT_TRUE((*send)->send_slot().empty());
  EXPECT_FALSE(zero.transport().connect(peer, kThere, Deadline::after_ms(2'000)).ok());
}

// The sender leaves, transport and all, as soon as its messages have left it.
int leave_at_once(const Channel& parent) {
  ChildRank child(parent);
  auto send = child.rank.transport().connect(child.peer, kBack, soon());
  if (!send.ok()) return 2;
  for (uint32_t i = 0; i < 3; ++i)
    if (!send_numbered(child.rank, **send, i, 5000)) return 3;
  if (!child.rank.wait_for([&] { return (*send)->flushed(); })) return 4;
  return 0;
}

TEST(UcxProcess, WhatWasFlushedCanBeReadAfterAnOrderlyEnd) {
  ChildProcess child(leave_at_once);
  TestRank zero(open_ucx, 0);
  auto recv = zero.transport().accept(exchange(zero, child), kBack, soon());
  ASSERT_TRUE(recv.ok()) << recv.status().message();
  EXPECT_EQ(child.exit_code(), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));  // longer than UCX's own verdict
  EXPECT_TRUE((*recv)->status().ok()) << (*recv)->status().message();
  for (uint32_t i = 0; i < 3; ++i) EXPECT_TRUE(receive_numbered(zero, **recv, i, 5000));
  ASSERT_TRUE(zero.wait_for([&] { return !(*recv)->status().ok(); }));
  EXPECT_THAT((*recv)->status().message(), HasSubstr("rank 1 closed"));
}

}  // namespace
}  // namespace strait::test

#endif
