#include "exec/cuda/message_blocks.hpp"

#include <algorithm>
#include <map>

namespace strait {
namespace {

// In each direction.
constexpr size_t kInsideMax = 32;
constexpr size_t kBeyondMax = 4;

using Chain = std::vector<const MessageLane*>;  // of one port

size_t blocks_max(bool leaves_domain, int lanes_max) {
  const size_t most = leaves_domain ? kBeyondMax : kInsideMax;
  if (lanes_max == 0) return most;
  return std::clamp<size_t>(static_cast<size_t>(lanes_max) / 2, 1, most);
}

// By direction and place of the peer.
std::map<std::pair<bool, bool>, std::vector<Chain>> chains_of(
    const std::vector<MessageLane>& messages) {
  std::map<std::pair<bool, bool>, std::vector<Chain>> chains;
  std::map<const DevicePort*, size_t> chain_of;
  for (const MessageLane& message : messages) {
    auto& kind = chains[{message.sends, message.leaves_domain}];
    const auto [found, fresh] = chain_of.try_emplace(message.port, kind.size());
    if (fresh) kind.emplace_back();
    kind[found->second].push_back(&message);
  }
  for (auto& [kind, of_kind] : chains)
    std::ranges::stable_sort(of_kind, {}, [](const Chain& c) { return c.front()->distance; });
  return chains;
}

}  // namespace

MessageBlocks arrange(const std::vector<MessageLane>& messages, int lanes_max) {
  std::vector<Chain> blocks;
  for (const auto& [kind, chains] : chains_of(messages)) {
    const size_t first = blocks.size();
    const size_t count = std::min(chains.size(), blocks_max(kind.second, lanes_max));
    blocks.resize(first + count);
    for (size_t i = 0; i < chains.size(); ++i) {
      Chain& block = blocks[first + i % count];
      block.insert(block.end(), chains[i].begin(), chains[i].end());
    }
  }
  MessageBlocks arranged;
  arranged.blocks = static_cast<uint32_t>(blocks.size());
  for (const Chain& block : blocks) arranged.lanes.push_back(block.front()->lane);
  for (size_t i = 0; i < blocks.size(); ++i) {
    size_t last = i;
    for (size_t place = 1; place < blocks[i].size(); ++place) {
      arranged.lanes[last].next = static_cast<uint32_t>(arranged.lanes.size());
      last = arranged.lanes.size();
      arranged.lanes.push_back(blocks[i][place]->lane);
    }
  }
  return arranged;
}

}  // namespace strait
