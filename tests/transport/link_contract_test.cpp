// What links promise while they work: order, bytes, slots, doorbells.
#include "transport/link_contract.hpp"

#include <gmock/gmock.h>

#include <random>
#include <thread>

namespace strait::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Transports, LinkContract, testing::ValuesIn(transport_kinds()),
                         [](const auto& test) { return test.param.name; });

LinkSpec spec_of(uint32_t slots, size_t slot_bytes, int lane = 0) {
  return {.source = 0, .destination = 1, .lane = lane, .slots = slots, .slot_bytes = slot_bytes};
}

TEST_P(LinkContract, ReachesItsPeer) {
  EXPECT_FALSE(zero_.transport().name().empty());
  EXPECT_GT(zero_.transport().speed().gigabytes_per_second, 0);
  const Status reached = zero_.transport().reach(1, one_.transport().address(), soon());
  EXPECT_TRUE(reached.ok()) << reached.message();
}

TEST_P(LinkContract, KeepsOrderAndBytes) {
  constexpr uint32_t kMessages = 5000;
  for (const uint32_t slots : {1u, 2u, 3u, 8u}) {
    LinkPair pair = open_pair(zero_, one_, spec_of(slots, 2000, static_cast<int>(slots)));
    std::thread sender([&] {
      std::mt19937 random(7);
      for (uint32_t i = 0; i < kMessages; ++i)
        ASSERT_TRUE(send_numbered(zero_, *pair.send, i, 1 + random() % 2000));
    });
    std::mt19937 random(7);
    bool same = true;
    for (uint32_t i = 0; i < kMessages && same; ++i)
      EXPECT_TRUE(same = receive_numbered(one_, *pair.recv, i, 1 + random() % 2000)) << i;
    sender.join();
    EXPECT_TRUE(pair.recv->recv_slot().bytes.empty());
    EXPECT_TRUE(pair.send->status().ok());
    EXPECT_TRUE(pair.recv->status().ok());
  }
}

TEST_P(LinkContract, FullRingBlocksTheSenderUntilRelease) {
  if (GetParam().name.starts_with("tcp"))
    GTEST_SKIP() << "the kernel's buffers hold more than the slots; TcpLink has its own test";
  for (const uint32_t slots : {1u, 4u}) {
    LinkPair pair = open_pair(zero_, one_, spec_of(slots, 64, static_cast<int>(slots)));
    uint32_t sent = 0;
    // A transport may keep as many messages again at the far end.
    while (sent <= 2 * slots) {
      const Deadline patience = Deadline::after_ms(200);
      std::span<std::byte> slot;
      while ((slot = pair.send->send_slot()).empty() && !patience.passed()) {
        const uint32_t seen = zero_.doorbell().read();
        zero_.doorbell().wait(seen, Deadline::after_ms(20));
      }
      if (slot.empty()) break;
      slot[0] = std::byte{1};
      pair.send->commit(1, sent++);
    }
    EXPECT_GE(sent, slots);
    EXPECT_LE(sent, 2 * slots);
    ASSERT_TRUE(one_.wait_for([&] { return !pair.recv->recv_slot().bytes.empty(); }));
    pair.recv->release();
    EXPECT_TRUE(zero_.wait_for([&] { return !pair.send->send_slot().empty(); }));
  }
}

// Where slots have fixed places, each message lies in its own, and those behind the oldest can be
// read before it is released.
TEST_P(LinkContract, SlotsWithPlacesComeInTheirOrder) {
  constexpr uint32_t kSlots = 3;
  LinkPair pair = open_pair(zero_, one_, spec_of(kSlots, 256));
  ASSERT_TRUE(send_numbered(zero_, *pair.send, 0, 10));
  ASSERT_TRUE(receive_numbered(one_, *pair.recv, 0, 10));
  const SlotPlaces from = pair.send->places();
  const SlotPlaces to = pair.recv->places();
  if (from.memory.empty() || to.memory.empty()) GTEST_SKIP() << "its slots have no fixed places";
  EXPECT_EQ(from.next, 1U);
  EXPECT_EQ(to.next, 1U);
  const auto place = [](const SlotPlaces& places, uint64_t sequence) {
    return places.first + sequence % places.slots * places.stride;
  };
  for (uint32_t sequence = 1; sequence < 50;) {
    for (uint32_t i = 0; i < kSlots; ++i) {
      std::span<std::byte> slot;
      ASSERT_TRUE(zero_.wait_for([&] { return !(slot = pair.send->send_slot()).empty(); }));
      EXPECT_EQ(slot.data(), place(from, sequence + i));
      EXPECT_GE(slot.data(), from.memory.data());
      EXPECT_LE(slot.data() + slot.size(), from.memory.data() + from.memory.size());
      std::memset(slot.data(), static_cast<int>(sequence + i), 200);
      pair.send->commit(200, sequence + i);
    }
    for (uint32_t i = 0; i < kSlots; ++i) {
      Message message;
      ASSERT_TRUE(one_.wait_for([&] { return !(message = pair.recv->peek(i)).bytes.empty(); }));
      EXPECT_EQ(message.bytes.data(), place(to, sequence + i));
      EXPECT_EQ(message.bytes.size(), 200U);
      EXPECT_EQ(message.bytes[199], static_cast<std::byte>(sequence + i));
      EXPECT_EQ(message.tag, sequence + i);
    }
    EXPECT_TRUE(pair.recv->peek(kSlots).bytes.empty());
    for (uint32_t i = 0; i < kSlots; ++i, ++sequence) pair.recv->release();
  }
}

TEST_P(LinkContract, TakesSeveralSlotsBeforeItPostsThem) {
  LinkPair pair = open_pair(zero_, one_, spec_of(3, 64));
  std::vector<std::span<std::byte>> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(pair.send->send_slot());
  EXPECT_TRUE(pair.send->send_slot().empty());
  for (int i = 2; i >= 0; --i) {
    ASSERT_GE(taken[i].size(), 64u);
    taken[i][0] = static_cast<std::byte>(i);
  }
  EXPECT_TRUE(pair.recv->recv_slot().bytes.empty());
  for (uint32_t i = 0; i < 3; ++i) pair.send->commit(1, 100 + i);
  for (uint32_t i = 0; i < 3; ++i) {
    Message message;
    ASSERT_TRUE(one_.wait_for([&] { return !(message = pair.recv->recv_slot()).bytes.empty(); }));
    EXPECT_EQ(message.tag, 100 + i);
    EXPECT_EQ(message.bytes[0], static_cast<std::byte>(i));
    pair.recv->release();
  }
}

TEST_P(LinkContract, MessageStaysUntilRelease) {
  LinkPair pair = open_pair(zero_, one_, spec_of(2, 64));
  ASSERT_TRUE(send_numbered(zero_, *pair.send, 5, 10));
  ASSERT_TRUE(send_numbered(zero_, *pair.send, 6, 20));
  ASSERT_TRUE(one_.wait_for([&] { return !pair.recv->recv_slot().bytes.empty(); }));
  const Message first = pair.recv->recv_slot();
  const Message again = pair.recv->recv_slot();
  EXPECT_EQ(first.bytes.data(), again.bytes.data());
  EXPECT_EQ(first.bytes.size(), 10u);
  EXPECT_TRUE(receive_numbered(one_, *pair.recv, 5, 10));
  EXPECT_TRUE(receive_numbered(one_, *pair.recv, 6, 20));
}

TEST_P(LinkContract, CarriesLargeSlots) {
  constexpr size_t kBytes = 8 << 20;
  LinkPair pair = open_pair(zero_, one_, spec_of(2, kBytes));
  std::thread sender([&] {
    for (uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(send_numbered(zero_, *pair.send, i, kBytes - i));
  });
  for (uint32_t i = 0; i < 4; ++i)
    EXPECT_TRUE(receive_numbered(one_, *pair.recv, i, kBytes - i)) << i;
  sender.join();
}

TEST_P(LinkContract, EndsUpFlushed) {
  LinkPair pair = open_pair(zero_, one_, spec_of(2, 64));
  EXPECT_TRUE(pair.send->flushed());
  ASSERT_TRUE(send_numbered(zero_, *pair.send, 1, 64));
  const Deadline deadline = soon();
  while (!pair.send->flushed() && !deadline.passed()) std::this_thread::yield();
  EXPECT_TRUE(pair.send->flushed());
  EXPECT_TRUE(receive_numbered(one_, *pair.recv, 1, 64));
}

// One slot each way, so that each side sleeps for every message and every slot: a lost ring would
// hang.
TEST_P(LinkContract, NoRingIsLost) {
  constexpr uint32_t kRounds = 3000;
  LinkPair there = open_pair(zero_, one_, spec_of(1, 64));
  LinkSpec back_spec = spec_of(1, 64);
  std::swap(back_spec.source, back_spec.destination);
  LinkPair back = open_pair(one_, zero_, back_spec);
  std::thread echo([&] {
    for (uint32_t i = 0; i < kRounds; ++i) {
      ASSERT_TRUE(receive_numbered(one_, *there.recv, i, 8));
      ASSERT_TRUE(send_numbered(one_, *back.send, i, 8));
    }
  });
  for (uint32_t i = 0; i < kRounds; ++i) {
    ASSERT_TRUE(send_numbered(zero_, *there.send, i, 8));
    ASSERT_TRUE(receive_numbered(zero_, *back.recv, i, 8));
  }
  echo.join();
}

// As an executor waits: it looks, finds nothing, asks whether the link still works, and sleeps.
TEST_P(LinkContract, AskingForTheStatusLosesNoRing) {
  const LinkPair there = open_pair(zero_, one_, spec_of(2, 64));
  LinkSpec back_spec = spec_of(2, 64);
  std::swap(back_spec.source, back_spec.destination);
  const LinkPair back = open_pair(one_, zero_, back_spec);
  const auto take = [](TestRank& rank, RecvLink& link) {
    while (true) {
      const uint32_t seen = rank.doorbell().read();
      if (!link.recv_slot().bytes.empty()) break;
      if (!link.status().ok()) return false;
      if (!rank.doorbell().wait(seen, Deadline::after_ms(3'000))) return false;
    }
    link.release();
    return true;
  };
  constexpr uint32_t kRounds = 3'000;
  std::thread other([&] {
    for (uint32_t i = 0; i < kRounds; ++i)
      if (!take(one_, *there.recv) || !send_numbered(one_, *back.send, i, 16)) return;
  });
  uint32_t done = 0;
  while (done < kRounds && send_numbered(zero_, *there.send, done, 16) && take(zero_, *back.recv))
    ++done;
  EXPECT_EQ(done, kRounds);
  if (done < kRounds) there.send->abort(error(Code::kTimeout, "a ring was lost"));
  other.join();
}

TEST_P(LinkContract, EightRanksAllToAll) {
  constexpr int kRanks = 8;
  constexpr uint32_t kMessages = 300;
  std::vector<std::unique_ptr<TestRank>> ranks;
  for (int i = 0; i < kRanks; ++i) ranks.push_back(std::make_unique<TestRank>(open(), i, 99));
  std::vector<std::thread> threads;
  for (int me = 0; me < kRanks; ++me)
    threads.emplace_back([&, me] {
      TestRank& rank = *ranks[me];
      std::vector<std::unique_ptr<SendLink>> sends;
      std::vector<std::unique_ptr<RecvLink>> recvs;
      for (int peer = 0; peer < kRanks; ++peer) {
        const LinkSpec out{me, peer, 0, 2, 1024};
        auto link = rank.transport().connect(ranks[peer]->transport().address(), out, soon());
        ASSERT_TRUE(link.ok()) << link.status().message();
        sends.push_back(std::move(*link));
      }
      for (int peer = 0; peer < kRanks; ++peer) {
        const LinkSpec in{peer, me, 0, 2, 1024};
        auto link = rank.transport().accept(ranks[peer]->transport().address(), in, soon());
        ASSERT_TRUE(link.ok()) << link.status().message();
        recvs.push_back(std::move(*link));
      }
      for (uint32_t i = 0; i < kMessages; ++i) {
        for (int peer = 0; peer < kRanks; ++peer)
          ASSERT_TRUE(send_numbered(rank, *sends[peer], i * 8 + me, 1 + i));
        for (int peer = 0; peer < kRanks; ++peer)
          ASSERT_TRUE(receive_numbered(rank, *recvs[peer], i * 8 + peer, 1 + i));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace strait::test
