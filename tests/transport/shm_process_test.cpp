// Shared memory between processes: that messages pass, that a death is noticed and explained, that
// nothing is left behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "transport/child_process.hpp"
#include "transport/shm/shm.hpp"
#include "transport/test_ranks.hpp"

namespace strait::test {
namespace {

using testing::HasSubstr;

constexpr LinkSpec kThere{.source = 0, .destination = 1, .lane = 0, .slots = 3, .slot_bytes = 5000};
constexpr LinkSpec kBack{.source = 1, .destination = 0, .lane = 0, .slots = 3, .slot_bytes = 5000};

// The child's rank, after it has exchanged addresses with the parent.
struct ChildRank {
  explicit ChildRank(const Channel& parent) : rank(open_shm, 1) {
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

int receive_all(const Channel& parent) {
  ChildRank child(parent);
  auto recv = child.rank.transport().accept(child.peer, kThere, soon());
  if (!recv.ok()) return 2;
  std::mt19937 random(3);
  for (uint32_t i = 0; i < 3000; ++i)
    if (!receive_numbered(child.rank, **recv, i, 1 + random() % 5000)) return 3;
  return 0;
}

TEST(ShmProcess, CarriesMessages) {
  ChildProcess child(receive_all);
  TestRank zero(open_shm, 0);
  auto send = zero.transport().connect(exchange(zero, child), kThere, soon());
  ASSERT_TRUE(send.ok()) << send.status().message();
  std::mt19937 random(3);
  for (uint32_t i = 0; i < 3000; ++i)
    ASSERT_TRUE(send_numbered(zero, **send, i, 1 + random() % 5000));
  EXPECT_EQ(child.exit_code(), 0);
}

// Holds both links open until it is killed.
int sit_still(const Channel& parent) {
  ChildRank child(parent);
  auto send = child.rank.transport().connect(child.peer, kBack, soon());
  auto recv = child.rank.transport().accept(child.peer, kThere, soon());
  if (!recv.ok() || !send.ok()) return 2;
  send_numbered(child.rank, **send, 1, 100);
  send_numbered(child.rank, **send, 2, 200);
  parent.send("ready");
  pause();
  return 0;
}

// The same, with a child of its own that inherits everything and survives it for a while.
int sit_still_with_heir(const Channel& parent) {
  ChildRank child(parent);
  auto send = child.rank.transport().connect(child.peer, kBack, soon());
  auto recv = child.rank.transport().accept(child.peer, kThere, soon());
  if (!recv.ok() || !send.ok()) return 2;
  if (fork() == 0) {
    sleep(8);
    _exit(0);
  }
  parent.send("ready");
  pause();
  return 0;
}

TEST(ShmProcess, DeathIsToldToBothEnds) {
  ChildProcess child(sit_still);
  TestRank zero(open_shm, 0);
  const std::string peer = exchange(zero, child);
  auto send = zero.transport().connect(peer, kThere, soon());
  ASSERT_TRUE(send.ok()) << send.status().message();
  auto recv = zero.transport().accept(peer, kBack, soon());
  ASSERT_TRUE(recv.ok()) << recv.status().message();
  ASSERT_EQ(child.channel().receive(), "ready");
  EXPECT_TRUE((*send)->status().ok());
  child.kill_now();
  ASSERT_TRUE(zero.wait_for([&] { return !(*send)->status().ok(); }));
  const std::string expected = fmt::format("rank 1 (process {}) died", child.process());
  EXPECT_THAT((*send)->status().message(), HasSubstr(expected));
  EXPECT_TRUE((*send)->send_slot().empty());
  // What was complete before the death is still there.
  EXPECT_TRUE(receive_numbered(zero, **recv, 1, 100));
  EXPECT_TRUE(receive_numbered(zero, **recv, 2, 200));
  ASSERT_TRUE(zero.wait_for([&] { return !(*recv)->status().ok(); }));
  EXPECT_THAT((*recv)->status().message(), HasSubstr(expected));
  EXPECT_FALSE(zero.transport().reach(1, peer, soon()).ok());
}

TEST(ShmProcess, DeathIsToldThoughChildrenLiveOn) {
  const UniqueFd self(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (!self) GTEST_SKIP() << "this kernel has no process descriptors";
  ChildProcess child(sit_still_with_heir);
  TestRank zero(open_shm, 0);
  const std::string peer = exchange(zero, child);
  auto send = zero.transport().connect(peer, kThere, soon());
  auto recv = zero.transport().accept(peer, kBack, soon());
  ASSERT_TRUE(send.ok() && recv.ok());
  ASSERT_EQ(child.channel().receive(), "ready");
  const int64_t start_ns = now_ns();
  child.kill_now();
  ASSERT_TRUE(zero.wait_for([&] { return !(*send)->status().ok(); }));
  EXPECT_LT(now_ns() - start_ns, 6'000'000'000);
  EXPECT_THAT((*send)->status().message(), HasSubstr("died"));
}

int abort_link(const Channel& parent) {
  ChildRank child(parent);
  auto recv = child.rank.transport().accept(child.peer, kThere, soon());
  if (!recv.ok()) return 2;
  (*recv)->abort(error(Code::kSystemError, "the disk of rank 1 is full"));
  parent.receive();
  return 0;
}

TEST(ShmProcess, AbortCarriesItsReason) {
  ChildProcess child(abort_link);
  TestRank zero(open_shm, 0);
  auto send = zero.transport().connect(exchange(zero, child), kThere, soon());
  ASSERT_TRUE(send.ok()) << send.status().message();
  ASSERT_TRUE(zero.wait_for([&] { return !(*send)->status().ok(); }));
  EXPECT_THAT((*send)->status().message(), HasSubstr("the disk of rank 1 is full"));
  child.channel().send("done");
  EXPECT_EQ(child.exit_code(), 0);
}

int close_in_good_order(const Channel& parent) {
  ChildRank child(parent);
  auto send = child.rank.transport().connect(child.peer, kBack, soon());
  if (!send.ok()) return 2;
  send_numbered(child.rank, **send, 1, 100);
  while (!(*send)->flushed()) usleep(1000);
  return 0;
}

TEST(ShmProcess, AnOrderlyEndIsNoDeath) {
  ChildProcess child(close_in_good_order);
  TestRank zero(open_shm, 0);
  auto recv = zero.transport().accept(exchange(zero, child), kBack, soon());
  ASSERT_TRUE(recv.ok()) << recv.status().message();
  EXPECT_EQ(child.exit_code(), 0);
  EXPECT_TRUE((*recv)->status().ok());
  EXPECT_TRUE(receive_numbered(zero, **recv, 1, 100));
  ASSERT_TRUE(zero.wait_for([&] { return !(*recv)->status().ok(); }));
  EXPECT_THAT((*recv)->status().message(), HasSubstr("rank 1 closed"));
}

size_t open_descriptors() {
  const auto fds = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(fds), end(fds)));
}

size_t mappings_of_ours() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:strait") != line.npos;
  return count;
}

size_t files_of_ours() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    count += entry.path().filename().string().find("strait") != std::string::npos;
  return count;
}

TEST(ShmProcess, NothingIsLeftBehindByAKill) {
  const size_t files = files_of_ours();
  const size_t descriptors = open_descriptors();
  const size_t mappings = mappings_of_ours();
  {
    ChildProcess child(sit_still);
    TestRank zero(open_shm, 0);
    const std::string peer = exchange(zero, child);
    auto send = zero.transport().connect(peer, kThere, soon());
    auto recv = zero.transport().accept(peer, kBack, soon());
    ASSERT_TRUE(send.ok() && recv.ok());
    ASSERT_EQ(child.channel().receive(), "ready");
    EXPECT_GE(mappings_of_ours(), mappings + 4);
    child.kill_now();
    ASSERT_TRUE(zero.wait_for([&] { return !(*send)->status().ok(); }));
  }
  EXPECT_EQ(mappings_of_ours(), mappings);
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(files_of_ours(), files);
}

int live_in_another_network(const Channel& parent) {
  if (unshare(CLONE_NEWNET) != 0) {
    parent.send("may not");
    return 0;
  }
  ChildRank child(parent);
  parent.receive();
  return 0;
}

TEST(ShmProcess, AnotherNetworkNamespaceIsNotReached) {
  ChildProcess child(live_in_another_network);
  TestRank zero(open_shm, 0);
  child.channel().send(zero.transport().address());
  const std::string peer = child.channel().receive();
  if (peer == "may not") GTEST_SKIP() << "this user may not make network namespaces";
  const Status status = zero.transport().reach(1, peer, soon());
  EXPECT_THAT(status.message(), HasSubstr("rank 1 is not on this host"));
  child.channel().send("done");
  EXPECT_EQ(child.exit_code(), 0);
}

}  // namespace
}  // namespace strait::test
