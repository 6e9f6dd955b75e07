// WindowTable: the memory that this rank has opened to its peers, by the number that all ranks of
// the communicator know it by. Any thread; one lock, held while bytes are copied, so that a window
// does not go while somebody writes into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "base/status.hpp"

namespace strait {

class WindowTable {
 public:
  // The next number: the same on all ranks, which register in one order.
  uint32_t add(std::byte* base, uint64_t bytes);
  void set_peer_bytes(uint32_t window, std::vector<uint64_t> bytes);
  void remove(uint32_t window);

  bool holds(uint32_t window) const;
  bool empty() const;
  // What the peer has registered; 0 for a window that does not exist here.
  uint64_t peer_bytes(uint32_t window, int peer) const;
  // Fails outside of the window; nothing is written then.
  Status write(uint32_t window, uint64_t offset, std::span<const std::byte> bytes);

 private:
  struct Window {
    std::byte* base = nullptr;
    uint64_t bytes = 0;
    std::vector<uint64_t> peer_bytes;
  };

  mutable std::mutex mutex_;
  uint32_t next_ = 1;
  std::map<uint32_t, Window> windows_;
};

}  // namespace strait
