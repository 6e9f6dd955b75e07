#include "exec/cuda/message_blocks.hpp"

#include <algorithm>
#include <map>

namespace strait {
namespace {

// In each direction.
constexpr size_t kInsideMax = 32;
constexpr size_t kBeyondMax = 4;

using Chain = std::vector<const MessageLane*>;  // of one port

size_t blocks_max(bool leaves_domain, const BlockBounds& bounds) {
  const size_t most = leaves_domain ? kBeyondMax : kInsideMax;
  if (bounds.lanes_max == 0) return most;
  return std::clamp<size_t>(static_cast<size_t>(bounds.lanes_max) / 2, 1, most);
}

// Which blocks a chain may have.
struct Kind {
  bool sends;
  bool leaves_domain;
  auto operator<=>(const Kind&) const = default;
};
using Kinds = std::map<Kind, std::vector<Chain>>;

// `apart`: what leaves the domain has blocks of its own.
Kinds chains_of(const std::vector<MessageLane>& messages, bool apart) {
  Kinds chains;
  std::map<const DevicePort*, size_t> chain_of;
  for (const MessageLane& message : messages) {
    auto& kind = chains[{message.sends, apart && message.leaves_domain}];
    const auto [found, fresh] = chain_of.try_emplace(message.port, kind.size());
    if (fresh) kind.emplace_back();
    kind[found->second].push_back(&message);
  }
  for (auto& [kind, of_kind] : chains)
    std::ranges::stable_sort(of_kind, {}, [](const Chain& c) { return c.front()->distance; });
  return chains;
}

// How many blocks each kind has: what it may have, but together no more than there is room for.
std::map<Kind, size_t> share_out(const Kinds& chains, const BlockBounds& bounds) {
  std::map<Kind, size_t> counts;
  size_t all = 0;
  for (const auto& [kind, of_kind] : chains)
    all += counts[kind] = std::min(of_kind.size(), blocks_max(kind.leaves_domain, bounds));
  const auto room = static_cast<size_t>(bounds.blocks_max);
  while (room != 0 && all > std::max(room, chains.size())) {
    --std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })->second;
    --all;
  }
  return counts;
}

}  // namespace

MessageBlocks arrange(const std::vector<MessageLane>& messages, const BlockBounds& bounds) {
  const bool apart = bounds.blocks_max == 0 || bounds.blocks_max >= 4;
  const Kinds kinds = chains_of(messages, apart);
  std::vector<Chain> blocks;
  for (const auto& [kind, count] : share_out(kinds, bounds)) {
    const std::vector<Chain>& chains = kinds.at(kind);
    const size_t first = blocks.size();
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
