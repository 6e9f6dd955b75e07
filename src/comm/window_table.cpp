#include "comm/window_table.hpp"

#include <cstring>

namespace strait {

uint32_t WindowTable::add(std::byte* base, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  windows_[next_] = {.base = base, .bytes = bytes, .peers = {}};
  return next_++;
}

void WindowTable::set_peers(uint32_t window, std::vector<PeerWindow> peers) {
  std::lock_guard lock(mutex_);
  windows_[window].peers = std::move(peers);
}

std::vector<PeerWindow> WindowTable::remove(uint32_t window) {
  std::lock_guard lock(mutex_);
  const auto found = windows_.find(window);
  if (found == windows_.end()) return {};
  std::vector<PeerWindow> peers = std::move(found->second.peers);
  windows_.erase(found);
  return peers;
}

std::byte* WindowTable::base(uint32_t window) const {
  std::lock_guard lock(mutex_);
  const auto found = windows_.find(window);
  return found == windows_.end() ? nullptr : found->second.base;
}

bool WindowTable::holds(uint32_t window) const {
  std::lock_guard lock(mutex_);
  return windows_.contains(window);
}

bool WindowTable::empty() const {
  std::lock_guard lock(mutex_);
  return windows_.empty();
}

PeerWindow WindowTable::peer(uint32_t window, int rank) const {
  std::lock_guard lock(mutex_);
  const auto found = windows_.find(window);
  if (found == windows_.end()) return {};
  const auto& peers = found->second.peers;
  return static_cast<size_t>(rank) < peers.size() ? peers[static_cast<size_t>(rank)] : PeerWindow{};
}

void WindowTable::set_memory(uint32_t window, int rank,
                             std::shared_ptr<const SharedMemory> memory) {
  std::lock_guard lock(mutex_);
  const auto found = windows_.find(window);
  if (found == windows_.end()) return;
  PeerWindow& peer = found->second.peers[static_cast<size_t>(rank)];
  if (memory == nullptr) peer.place = {};
  peer.memory = std::move(memory);
}

Status WindowTable::write(uint32_t window, uint64_t offset, std::span<const std::byte> bytes) {
  std::lock_guard lock(mutex_);
  const auto found = windows_.find(window);
  if (found == windows_.end())
    return error(Code::kInvalidUsage,
                 "a put came for window {}, which is not registered here: deregister only when "
                 "all puts have been waited for",
                 window);
  const Window& target = found->second;
  if (offset > target.bytes || bytes.size() > target.bytes - offset)
    return error(Code::kInvalidUsage, "a put of {} bytes at {} leaves window {} of {} bytes",
                 bytes.size(), offset, window, target.bytes);
  if (bytes.empty()) return Status();
  if (writer_) return writer_(target.base + offset, bytes);
  std::memcpy(target.base + offset, bytes.data(), bytes.size());
  return Status();
}

}  // namespace strait
