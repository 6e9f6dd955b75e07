// Sends and receives share the blocks of a kernel, and whatever their number no block waits for
// ever: groups of many ranks are played with links that hold nothing.
#include "exec/cuda/message_blocks.hpp"

#include <gmock/gmock.h>

#include <array>
#include <map>

namespace strait {
namespace {

// The peer is the lane's first step, so that it is found again.
MessageLane message(const DevicePort* port, bool sends, int distance, bool leaves_domain = false,
                    int name = 0) {
  MessageLane made{.lane = {},
                   .port = port,
                   .sends = sends,
                   .leaves_domain = leaves_domain,
                   .distance = distance};
  made.lane.first_step = static_cast<uint32_t>(name);
  made.lane.next = kNoLane;
  return made;
}

std::vector<int> names_of(const MessageBlocks& arranged, uint32_t block) {
  std::vector<int> names;
  for (uint32_t at = block; at != kNoLane; at = arranged.lanes[at].next)
    names.push_back(static_cast<int>(arranged.lanes[at].first_step));
  return names;
}

TEST(MessageBlocks, EachPeerAndDirectionHasItsOwnWhileThereAreSome) {
  std::array<DevicePort, 3> ports;
  const MessageBlocks arranged =
      arrange({message(&ports[0], true, 2, false, 1), message(&ports[1], false, 1, false, 2),
               message(&ports[0], true, 2, false, 3), message(&ports[2], true, 1, true, 4)},
              {});
  ASSERT_EQ(arranged.blocks, 3U);
  std::vector<std::vector<int>> blocks;
  for (uint32_t block = 0; block < 3; ++block) blocks.push_back(names_of(arranged, block));
  EXPECT_THAT(blocks,
              testing::UnorderedElementsAre(testing::ElementsAre(1, 3), testing::ElementsAre(2),
                                            testing::ElementsAre(4)));
}

TEST(MessageBlocks, AreAsManyAsTheProgramAllowsButOneForEachDirection) {
  std::array<DevicePort, 200> ports;
  std::vector<MessageLane> messages;
  for (int i = 0; i < 200; ++i)
    messages.push_back(message(&ports[static_cast<size_t>(i)], i % 2 == 0, 1 + i / 2));
  EXPECT_EQ(arrange(messages, {}).blocks, 64U);
  EXPECT_EQ(arrange(messages, {.lanes_max = 10}).blocks, 10U);
  EXPECT_EQ(arrange(messages, {.lanes_max = 1}).blocks, 2U);
  for (MessageLane& lane : messages) lane.leaves_domain = true;
  EXPECT_EQ(arrange(messages, {}).blocks, 8U);
  EXPECT_EQ(arrange(messages, {.lanes_max = 64}).blocks, 8U);
  EXPECT_EQ(arrange(messages, {.lanes_max = 4}).blocks, 4U);
}

// What cannot run beside the rest would be waited for in vain.
TEST(MessageBlocks, AreNoMoreThanTheGpuRunsBesideEachOther) {
  std::array<DevicePort, 80> ports;
  std::vector<MessageLane> messages;
  for (int i = 0; i < 80; ++i)
    messages.push_back(message(&ports[static_cast<size_t>(i)], i % 2 == 0, 1 + i / 2, i % 4 < 2));
  for (const int room : {2, 3, 4, 5, 16, 40})
    EXPECT_EQ(arrange(messages, {.blocks_max = room}).blocks, static_cast<uint32_t>(room));
  EXPECT_EQ(arrange(messages, {.blocks_max = 1}).blocks, 2U);
  EXPECT_EQ(arrange(messages, {.blocks_max = 200}).blocks, 48U);
}

// Everyone with everyone, or with those that `with` names; a message moves when both of its blocks
// have come to it. Returns how many never move.
size_t stuck(int ranks, const BlockBounds& bounds,
             const std::function<bool(int from, int to)>& with) {
  std::map<std::pair<int, int>, DevicePort> out, in;
  // Per rank and block, what is still to be done: (sends, peer).
  std::vector<std::vector<std::vector<std::pair<bool, int>>>> work(static_cast<size_t>(ranks));
  size_t left = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<MessageLane> messages;
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      const int ahead = (peer - rank + ranks) % ranks;
      const bool leaves = peer / 4 != rank / 4;
      if (with(rank, peer))
        messages.push_back(message(&out[{rank, peer}], true, ahead, leaves, peer));
      if (with(peer, rank))
        messages.push_back(message(&in[{rank, peer}], false, ranks - ahead, leaves, ranks + peer));
    }
    left += messages.size();
    const MessageBlocks arranged = arrange(messages, bounds);
    for (uint32_t block = 0; block < arranged.blocks; ++block) {
      auto& todo = work[static_cast<size_t>(rank)].emplace_back();
      for (const int name : names_of(arranged, block))
        todo.insert(todo.begin(), {name < ranks, name % ranks});
    }
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < ranks; ++rank)
      for (auto& block : work[static_cast<size_t>(rank)]) {
        if (block.empty() || !block.back().first) continue;
        for (auto& other : work[static_cast<size_t>(block.back().second)]) {
          if (other.empty() || other.back() != std::pair(false, rank)) continue;
          other.pop_back();
          block.pop_back();
          left -= 2;
          moved = true;
          break;
        }
      }
  }
  return left;
}

TEST(MessageBlocks, NoBlockWaitsForEver) {
  const auto all = [](int, int) { return true; };
  for (const int ranks : {2, 3, 8, 24, 72})
    for (const int lanes_max : {0, 1, 2, 5, 16})
      for (const int blocks_max : {0, 1, 3, 7, 16})
        EXPECT_EQ(stuck(ranks, {lanes_max, blocks_max}, all), 0U);
  for (int seed = 1; seed < 20; ++seed)
    EXPECT_EQ(stuck(24, {seed % 7, seed % 5},
                    [&](int from, int to) { return (from * 31 + to * seed) % 3 != 0; }),
              0U);
}

}  // namespace
}  // namespace strait
