// What is the RDMA transport's own: death, ports that go down, keys and GIDs that are wrong. Needs
// a port; tests/verbs/in_machine has some.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "transport/child_process.hpp"
#include "transport/net/dial.hpp"
#include "transport/test_ranks.hpp"
#include "transport/verbs/link_end.hpp"
#include "transport/verbs/verbs.hpp"

namespace strait::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr LinkSpec kSpec{.source = 0, .destination = 1, .lane = 0, .slots = 3, .slot_bytes = 4096};
constexpr uint64_t kKey = 1;

using Settings = std::vector<std::pair<std::string, std::string>>;

OpenTransport verbs_with(const Settings& settings) {
  return [=](TransportContext context) -> Result<std::unique_ptr<Transport>> {
    for (const auto& [name, value] : settings) STRAIT_TRY(context.config.set(name, value));
    return open_verbs(context);
  };
}

class VerbsLink : public ::testing::Test {
 protected:
  void SetUp() override {
    if (verbs::read_ports().empty())
      GTEST_SKIP() << "no RDMA port here; tests/verbs/in_machine runs this where there is one";
  }
};

// In these, each rank is a process, and a text tells the other its address.
int send_until_killed(const Channel& parent) {
  TestRank zero(open_verbs, 0, kKey);
  parent.send(zero.transport().address());
  auto link = zero.transport().connect(parent.receive(), kSpec, soon());
  if (!link.ok()) return 1;
  for (uint32_t i = 0; i < 2; ++i)
    if (!send_numbered(zero, **link, i, 100)) return 2;
  if (!zero.wait_for([&] { return (*link)->flushed(); })) return 3;
  parent.send("sent");
  parent.receive();
  return 0;
}

TEST_F(VerbsLink, WhatAKilledSenderSentIsRead) {
  ChildProcess child(send_until_killed);
  const std::string address = child.channel().receive();
  TestRank one(open_verbs, 1, kKey);
  child.channel().send(one.transport().address());
  auto link = one.transport().accept(address, kSpec, soon());
  ASSERT_TRUE(link.ok()) << link.status().message();
  ASSERT_EQ(child.channel().receive(), "sent");
  const int64_t killed_ns = now_ns();
  child.kill_now();
  ASSERT_TRUE(receive_numbered(one, **link, 0, 100));
  ASSERT_TRUE(receive_numbered(one, **link, 1, 100));
  ASSERT_TRUE(one.wait_for([&] { return !(*link)->status().ok(); }));
  EXPECT_LT(now_ns() - killed_ns, 5'000'000'000);
  EXPECT_THAT((*link)->status().message(), HasSubstr("rank 0 closed the connection"));
  EXPECT_FALSE((*link)->peer_gave_up());
}

int receive_until_killed(const Channel& parent) {
  TestRank one(open_verbs, 1, kKey);
  parent.send(one.transport().address());
  auto link = one.transport().accept(parent.receive(), kSpec, soon());
  if (!link.ok() || !receive_numbered(one, **link, 0, 100)) return 1;
  parent.send("received");
  parent.receive();
  return 0;
}

TEST_F(VerbsLink, AKilledReceiverFailsTheSender) {
  ChildProcess child(receive_until_killed);
  const std::string address = child.channel().receive();
  TestRank zero(open_verbs, 0, kKey);
  child.channel().send(zero.transport().address());
  auto link = zero.transport().connect(address, kSpec, soon());
  ASSERT_TRUE(link.ok()) << link.status().message();
  ASSERT_TRUE(send_numbered(zero, **link, 0, 100));
  ASSERT_EQ(child.channel().receive(), "received");
  child.kill_now();
  while (!(*link)->send_slot().empty()) (*link)->commit(100, 1);
  ASSERT_TRUE(zero.wait_for([&] { return !(*link)->status().ok(); }));
  EXPECT_THAT((*link)->status().message(), HasSubstr("rank 1 closed the connection"));
}

// A receiver of the test's own, which answers with what the test wants.
class FalseReceiver final : private verbs::CompletionListener {
 public:
  FalseReceiver(uint64_t comm_key, const std::vector<std::byte>& secret, uint32_t key_change)
      : key_change_(key_change) {
    port_ = verbs::choose_ports(verbs::read_ports(), {})->front();
    device_ = *verbs::Device::open(port_.device);
    memory_.resize(kSpec.slots * kSpec.slot_bytes);
    region_ =
        verbs::own((device_->calls().reg_mr)(device_->domain(), memory_.data(), memory_.size(),
                                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
                   device_->calls().dereg_mr);
    listener_ = *net::Listener::get("");
    for (const net::Service service : {net::Service::kVerbsTrial, net::Service::kVerbs}) {
      auto door = listener_->serve({comm_key, service, 1}, secret, [this, service](auto call) {
        answer(std::move(call), service == net::Service::kVerbs);
      });
      EXPECT_TRUE(door.ok()) << door.status().message();
      doors_.push_back(std::move(*door));
    }
  }

  std::string address() const {
    verbs::RankAddress address{.listener = {*net::Address::parse("127.0.0.1:1")}, .ports = {}};
    address.listener.front().port = listener_->port();
    address.ports.push_back(port_address());
    return verbs::format(address);
  }

 private:
  verbs::PortAddress port_address() const {
    return {.ethernet = true, .mtu = 3, .lid = 0, .gids = {port_.gids.front()}};
  }
  void on_completions() override {}

  void answer(net::Caller call, bool lies) {
    verbs::Side sender;
    std::memcpy(&sender, call.note.data() + net::kLinkNoteBytes, sizeof sender);
    auto queue = verbs::Queue::create({.device = device_,
                                       .port = port_address(),
                                       .port_number = port_.number,
                                       .gid = port_.gids.front(),
                                       .packets = {.timeout = 12},
                                       .sends = 4,
                                       .receives = 4,
                                       .access = IBV_ACCESS_REMOTE_WRITE},
                                      this);
    ASSERT_TRUE(queue.ok()) << queue.status().message();
    ASSERT_TRUE(queue->start(sender).ok());
    const verbs::ReceiverSide here{.side = queue->side(),
                                   .slots = {.address = reinterpret_cast<uint64_t>(memory_.data()),
                                             .key = region_->rkey ^ (lies ? key_change_ : 0)}};
    net::send_frame(call.fd, {.kind = net::FrameKind::kSide, .bytes = sizeof here},
                    std::as_bytes(std::span(&here, 1)));
    queues_.push_back(std::move(*queue));
    streams_.push_back(std::move(call.fd));
  }

  const uint32_t key_change_;
  verbs::Port port_;
  std::shared_ptr<verbs::Device> device_;
  std::vector<std::byte> memory_;
  verbs::Owned<ibv_mr> region_;
  std::shared_ptr<net::Listener> listener_;
  std::vector<verbs::Queue> queues_;
  std::vector<net::Stream> streams_;
  std::vector<std::unique_ptr<net::Registration>> doors_;
};

TEST_F(VerbsLink, AWrongKeyIsRefusedByTheReceiversNic) {
  TestRank zero(open_verbs, 0, kKey);
  FalseReceiver one(kKey, zero.context().secret, 0x00ff'ff00);
  auto link = zero.transport().connect(one.address(), kSpec, soon());
  ASSERT_TRUE(link.ok()) << link.status().message();
  ASSERT_TRUE(send_numbered(zero, **link, 0, 100));
  ASSERT_TRUE(zero.wait_for([&] {
    (*link)->flushed();
    return !(*link)->status().ok();
  }));
  EXPECT_THAT((*link)->status().message(),
              AllOf(HasSubstr("link 0->1 lane 0 over rxe"), HasSubstr("remote access error"),
                    HasSubstr("the NIC of rank 1 refused")));
}

// As "ip link set NAME up" or down.
bool set_up(const std::string& name, bool up) {
  const UniqueFd any_socket(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  if (ioctl(any_socket.get(), SIOCGIFFLAGS, &request) != 0) return false;
  request.ifr_flags =
      static_cast<short>(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
  return ioctl(any_socket.get(), SIOCSIFFLAGS, &request) == 0;
}

TEST_F(VerbsLink, APortThatGoesDownFailsItsLinks) {
  const auto open = verbs_with(
      {{"IB_HCA", "=rxe1"}, {"IB_TIMEOUT", "12"}, {"IB_RETRY_CNT", "3"}, {"SOCKET_IFNAME", "lo"}});
  TestRank zero(open, 0, kKey);
  TestRank one(open, 1, kKey);
  LinkPair pair = open_pair(zero, one, kSpec);
  ASSERT_TRUE(send_numbered(zero, *pair.send, 0, 100));
  ASSERT_TRUE(receive_numbered(one, *pair.recv, 0, 100));
  ASSERT_TRUE(set_up("veth1", false));
  const int64_t down_ns = now_ns();
  EXPECT_TRUE(zero.wait_for([&] {
    if (!pair.send->send_slot().empty()) pair.send->commit(100, 1);
    pair.send->flushed();
    return !pair.send->status().ok();
  }));
  EXPECT_LT(now_ns() - down_ns, 8'000'000'000);
  EXPECT_THAT(pair.send->status().message(), AllOf(HasSubstr("rxe1:1"), HasSubstr("port 1 is down"),
                                                   HasSubstr("look at its cable")));
  EXPECT_TRUE(one.wait_for([&] { return !pair.recv->status().ok(); }));
  EXPECT_THAT(pair.recv->status().message(), HasSubstr("rank 0: link 0->1"));
  TestRank two(open, 2, kKey);
  EXPECT_THAT(two.transport().reach(1, one.transport().address(), soon()).message(),
              HasSubstr("rxe1:1 is DOWN"));
  ASSERT_TRUE(set_up("veth1", true));
}

TEST_F(VerbsLink, AGidThatIsNotThereIsTold) {
  TestRank zero(verbs_with({{"IB_GID_INDEX", "99"}}), 0, kKey);
  TestRank one(open_verbs, 1, kKey);
  EXPECT_THAT(zero.transport().reach(1, one.transport().address(), soon()).message(),
              AllOf(HasSubstr("rank 1 is not reached by RDMA"), HasSubstr("GID at index 99")));
  EXPECT_THAT(one.transport().reach(0, zero.transport().address(), soon()).message(),
              HasSubstr("rank 0 has no RDMA port"));
}

TEST_F(VerbsLink, KindsOfGidMustAgree) {
  TestRank zero(verbs_with({{"IB_ADDR_FAMILY", "AF_INET6"}}), 0, kKey);
  TestRank one(verbs_with({{"IB_ADDR_FAMILY", "AF_INET"}}), 1, kKey);
  EXPECT_THAT(zero.transport().reach(1, one.transport().address(), soon()).message(),
              HasSubstr("no kind of GID in common"));
}

// Root may lock what it likes, unless it gives that up.
void give_up_locking() {
  const rlimit limit{64 << 10, 64 << 10};
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[2]{};
  ASSERT_EQ(syscall(SYS_capget, &header, data), 0);
  data[0].effective &= ~(1U << CAP_IPC_LOCK);
  ASSERT_EQ(syscall(SYS_capset, &header, data), 0);
}

TEST_F(VerbsLink, TooLittleLockedMemoryIsTold) {
  ChildProcess child([](const Channel&) {
    TestRank zero(open_verbs, 0, kKey);
    TestRank one(open_verbs, 1, kKey);
    if (!zero.transport().reach(1, one.transport().address(), soon()).ok()) return 1;
    give_up_locking();
    LinkSpec spec = kSpec;
    spec.slot_bytes = 1 << 20;
    const auto link = zero.transport().connect(one.transport().address(), spec, soon());
    EXPECT_THAT(link.status().message(),
                AllOf(HasSubstr("link 0->1 lane 0: registering"),
                      HasSubstr("locked memory is limited to 64 KiB (ulimit -l)")));
    return ::testing::Test::HasFailure() ? 2 : 0;
  });
  EXPECT_EQ(child.exit_code(), 0);
}

// A program that forks a helper goes on, whatever the helper does.
TEST_F(VerbsLink, AForkDoesNoHarm) {
  TestRank zero(open_verbs, 0, kKey);
  TestRank one(open_verbs, 1, kKey);
  LinkPair pair = open_pair(zero, one, kSpec);
  ASSERT_TRUE(send_numbered(zero, *pair.send, 0, 100));
  ChildProcess child([](const Channel&) { return 0; });
  EXPECT_EQ(child.exit_code(), 0);
  ASSERT_TRUE(receive_numbered(one, *pair.recv, 0, 100));
  for (uint32_t i = 1; i < 50; ++i) {
    ASSERT_TRUE(send_numbered(zero, *pair.send, i, 4000));
    ASSERT_TRUE(receive_numbered(one, *pair.recv, i, 4000));
  }
}

// Lanes take the devices in turn.
TEST_F(VerbsLink, LanesUseBothPorts) {
  TestRank zero(open_verbs, 0, kKey);
  TestRank one(open_verbs, 1, kKey);
  for (const int lane : {0, 1, 2}) {
    LinkSpec spec = kSpec;
    spec.lane = lane;
    LinkPair pair = open_pair(zero, one, spec);
    for (uint32_t i = 0; i < 10; ++i) {
      ASSERT_TRUE(send_numbered(zero, *pair.send, i, 1 + i));
      ASSERT_TRUE(receive_numbered(one, *pair.recv, i, 1 + i));
    }
    EXPECT_TRUE(pair.recv->status().ok());
  }
}

}  // namespace
}  // namespace strait::test
