// WindowTable: the memory that this rank has opened to its peers, by the number that all ranks of
// the communicator know it by. Any thread; one lock, held while bytes are copied, so that a window
// does not go while somebody writes into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/segments.hpp"
#include "base/status.hpp"
#include "exec/cuda/peer_memory.hpp"

namespace strait {

// A peer's side of a window.
struct PeerWindow {
  uint64_t bytes = 0;                          // 0: there is no such window
  SegmentPlace place = {};                     // where its process can be reached into
  std::shared_ptr<const SharedMemory> memory;  // that segment, once it is mapped here
  // On GPUs: the memory in which it lies, mapped here, and where in it the window begins.
  std::shared_ptr<const PeerMemory> mapping;
  uint64_t mapping_offset = 0;
};

class WindowTable {
 public:
  // How bytes get into a window; memcpy where there is none.
  using Writer = std::function<Status(std::byte* target, std::span<const std::byte> bytes)>;
  explicit WindowTable(Writer writer) : writer_(std::move(writer)) {}

  // The next number: the same on all ranks, which register in one order.
  uint32_t add(std::byte* base, uint64_t bytes);
  void set_peers(uint32_t window, std::vector<PeerWindow> peers);
  // Returns how the peers' sides were reached.
  std::vector<PeerWindow> remove(uint32_t window);

  bool holds(uint32_t window) const;
  bool empty() const;
  // What the peer has registered.
  PeerWindow peer(uint32_t window, int rank) const;
  // The peer's segment, or null if it cannot be reached after all.
  void set_memory(uint32_t window, int rank, std::shared_ptr<const SharedMemory> memory);
  // Where the window lies here.
  std::byte* base(uint32_t window) const;
  // Fails outside of the window; nothing is written then.
  Status write(uint32_t window, uint64_t offset, std::span<const std::byte> bytes);

 private:
  struct Window {
    std::byte* base = nullptr;
    uint64_t bytes = 0;
    std::vector<PeerWindow> peers;  // by rank
  };

  const Writer writer_;
  mutable std::mutex mutex_;
  uint32_t next_ = 1;
  std::map<uint32_t, Window> windows_;
};

}  // namespace strait
