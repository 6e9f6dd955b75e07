#include "transport/shm/shm_peer.hpp"

#include <algorithm>

#include "base/segments.hpp"

namespace strait {
namespace {

// A look for a segment must not hold up the rank: it is taken up again until patience ends.
constexpr int64_t kFetchTurnMs = 100;
constexpr int64_t kPatienceNs = 30'000'000'000;

}  // namespace

Result<std::shared_ptr<ShmPeer>> ShmPeer::find(Door door, Deadline deadline) {
  const int rank = door.rank;
  STRAIT_ASSIGN(FetchedFd fetched,
                fetch_fd(door.address, door.comm_key, rank, kDoorbellName, door.secret, deadline));
  auto peer = std::make_shared<ShmPeer>(std::move(door));
  RemoteBell& bell = *peer->bell_;
  STRAIT_ASSIGN(bell.memory, SharedMemory::map(std::move(fetched.fd), sizeof(DoorbellWord)));
  bell.memory.take_fd();
  bell.doorbell = Doorbell(reinterpret_cast<DoorbellWord*>(bell.memory.data()));
  STRAIT_ASSIGN(peer->line_,
                PeerLine::watch(std::move(fetched.line), rank, fetched.process,
                                [self = peer.get()](const Status& why) { self->lose(why); }));
  return peer;
}

std::optional<Reference> ShmPeer::name(std::span<const std::byte> bytes) const {
  const auto place = Segments::instance().find(bytes.data(), bytes.size());
  if (!place) return std::nullopt;
  return Reference{.segment = place->segment, .offset = place->offset, .bytes = bytes.size()};
}

Result<Reach::Found> ShmPeer::find(const Reference& reference) {
  auto memory = segment(reference.segment, Deadline::after_ms(kFetchTurnMs));
  if (memory.status().code() == Code::kTimeout) {
    std::lock_guard lock(segments_mutex_);
    if (unanswered_since_ns_ == 0) unanswered_since_ns_ = now_ns();
    if (now_ns() - unanswered_since_ns_ < kPatienceNs) return Found{};
    return memory.status();
  }
  if (!memory.ok()) return memory.status();
  const uint64_t size = (*memory)->bytes();
  if (reference.bytes == 0 || reference.offset > size || reference.bytes > size - reference.offset)
    return error(Code::kRemoteError, "rank {} lends {} bytes at {} of a segment of {}", door_.rank,
                 reference.bytes, reference.offset, size);
  const std::byte* const begin = (*memory)->data() + reference.offset;
  return Found{.bytes = {begin, reference.bytes}, .keeps = std::move(*memory)};
}

Result<std::shared_ptr<const SharedMemory>> ShmPeer::segment(uint64_t number, Deadline deadline) {
  std::lock_guard lock(segments_mutex_);
  for (const Mapped& known : segments_)
    if (known.number == number) return known.memory;
  STRAIT_ASSIGN(FetchedFd fetched,
                fetch_fd(door_.address, door_.comm_key, door_.rank,
                         kSegmentPrefix + std::to_string(number), door_.secret, deadline));
  unanswered_since_ns_ = 0;
  STRAIT_ASSIGN(SharedMemory memory, SharedMemory::map_all(std::move(fetched.fd)));
  memory.take_fd();
  if (segments_.size() == kSegmentsMax) segments_.pop_front();
  segments_.push_back({number, std::make_shared<const SharedMemory>(std::move(memory))});
  return segments_.back().memory;
}

std::shared_ptr<Doorbell> ShmPeer::doorbell() const {
  return {bell_, &bell_->doorbell};
}

Status ShmPeer::status() const {
  std::lock_guard lock(mutex_);
  return loss_;
}

void ShmPeer::watch(const std::shared_ptr<RingPort>& port) {
  std::lock_guard lock(mutex_);
  if (!loss_.ok()) return port->lose_peer(loss_);
  std::erase_if(ports_, [](const auto& old) { return old.expired(); });
  ports_.push_back(port);
}

void ShmPeer::lose(const Status& why) {
  std::lock_guard lock(mutex_);
  loss_ = why;
  for (const auto& watched : ports_)
    if (const auto port = watched.lock()) port->lose_peer(why);
  ports_.clear();
}

}  // namespace strait
