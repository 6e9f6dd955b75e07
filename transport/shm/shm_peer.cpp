#include "transport/shm/shm_peer.hpp"

namespace strait {

Result<std::shared_ptr<ShmPeer>> ShmPeer::find(const std::string& address, uint64_t comm_key,
                                               int rank, std::span<const std::byte> secret,
                                               Deadline deadline) {
  STRAIT_ASSIGN(FetchedFd fetched,
                fetch_fd(address, comm_key, rank, kDoorbellName, secret, deadline));
  auto peer = std::make_shared<ShmPeer>();
  RemoteBell& bell = *peer->bell_;
  STRAIT_ASSIGN(bell.memory, SharedMemory::map(std::move(fetched.fd), sizeof(DoorbellWord)));
  bell.memory.take_fd();
  bell.doorbell = Doorbell(reinterpret_cast<DoorbellWord*>(bell.memory.data()));
  STRAIT_ASSIGN(peer->line_,
                PeerLine::watch(std::move(fetched.line), rank, fetched.process,
                                [self = peer.get()](const Status& why) { self->lose(why); }));
  return peer;
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
