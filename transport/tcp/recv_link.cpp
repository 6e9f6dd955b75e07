#include "transport/tcp/recv_link.hpp"

#include <sys/epoll.h>

#include <atomic>
#include <deque>
#include <mutex>

#include "transport/net/link_failure.hpp"
#include "transport/tcp/frame_reader.hpp"

namespace strait::tcp {
namespace {

class TcpRecvLink final : public RecvLink {
 public:
  TcpRecvLink(LinkParts parts, SlotMemory memory)
      : spec_(parts.spec),
        remote_(parts.remote.text()),
        reactor_(std::move(parts.reactor)),
        doorbell_(parts.doorbell),
        inbox_{.memory = std::move(memory),
               .entries = std::vector<Inbox::Entry>(parts.spec.slots)} {
    const size_t count = parts.fds.size();
    for (size_t i = 0; i < count; ++i)
      connections_.emplace_back(
          FrameReader(std::move(parts.fds[i]), i, count, &inbox_, spec_.source));
  }

  ~TcpRecvLink() override {
    for (const Connection& connection : connections_) reactor_->remove(connection.reader.fd());
    std::lock_guard lock(mutex_);  // a call-back that removed itself may still be leaving
  }

  Status start() {
    for (Connection& connection : connections_)
      STRAIT_TRY(
          reactor_->add(connection.reader.fd(), EPOLLIN,
                        [this, &connection](uint32_t events) { on_event(connection, events); }));
    return Status();
  }

  Message recv_slot() override { return peek(0); }

  Message peek(uint32_t ahead) override {
    if (failure_.failed() || ahead >= spec_.slots) return {};
    const uint64_t sequence = head_ + ahead;
    Inbox::Entry& entry = inbox_.entry(sequence);
    uint32_t bytes = entry.bytes.load(std::memory_order_acquire);
    if (bytes == 0) {
      look(sequence);
      bytes = entry.bytes.load(std::memory_order_acquire);
      if (bytes == 0) return {};
    }
    return {.bytes = inbox_.memory.slot(sequence).first(bytes), .tag = entry.tag};
  }

  SlotPlaces places() override { return inbox_.memory.places(head_); }

  void release() override {
    Inbox::Entry& entry = inbox_.entry(head_);
    STRAIT_CHECK(entry.bytes.load(std::memory_order_relaxed) != 0, "release without a message");
    entry.bytes.store(0, std::memory_order_relaxed);
    inbox_.released.store(++head_, std::memory_order_release);
  }

  Status status() const override {
    if (failure_.failed()) return failure_.status();
    // A peer that has left is no failure before its last message is read.
    if (inbox_.entries[head_ % spec_.slots].bytes.load(std::memory_order_acquire) != 0)
      return Status();
    const Connection& connection = connections_[head_ % connections_.size()];
    if (connection.ended.load(std::memory_order_acquire))
      return connection_ended(spec_, spec_.source, remote_,
                              connection.ended_errno.load(std::memory_order_relaxed));
    look_unless_watched(connection);
    return failure_.status();
  }

  void abort(const Status& why) override {
    if (!failure_.set(why)) return;
    for (Connection& connection : connections_) send_reason(connection.reader.stream(), why);
    doorbell_->ring();
  }

 private:
  struct Connection {
    explicit Connection(FrameReader frame_reader) : reader(std::move(frame_reader)) {}

    FrameReader reader;
    bool watched = true;              // by the reactor
    bool retired = false;             // from the reactor, for good
    std::atomic<bool> ended{false};   // partner: status() loads
    std::atomic<int> ended_errno{0};  // partner: status() loads it after `ended`
  };

  // The owner waits for that message: tries itself, then leaves the watch to the reactor.
  void look(uint64_t sequence) const {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;  // the reactor is reading, and rings when there is something
    Connection& mine = connections_[sequence % connections_.size()];
    if (!mine.ended.load(std::memory_order_relaxed)) read(mine);
    if (inbox_.entry(sequence).bytes.load(std::memory_order_acquire) != 0) return;
    for (Connection& connection : connections_)
      if (!connection.watched && !connection.retired && connection.reader.has_room())
        watch(connection, true);
  }

  // For whoever asks only for the status. A message that this finds would wake nobody later, since
  // the reactor never saw it: it rings.
  void look_unless_watched(const Connection& connection) const {
    {
      std::unique_lock lock(mutex_, std::try_to_lock);
      if (!lock || connection.watched) return;
    }
    look(head_);
    if (inbox_.entry(head_).bytes.load(std::memory_order_acquire) != 0) doorbell_->ring();
  }

  void on_event(Connection& connection, uint32_t events) {
    std::unique_lock lock(mutex_);
    const size_t delivered = read(connection);
    const bool full = !connection.reader.has_room();
    const bool broken = (events & (EPOLLERR | EPOLLHUP)) != 0;
    if (connection.ended.load(std::memory_order_relaxed) || failure_.failed() || (full && broken)) {
      // Its events would repeat for ever. What a broken connection still holds, look() reads.
      connection.retired = true;
      reactor_->remove(connection.reader.fd());
    } else if (delivered > 0 || full) {
      watch(connection, false);
    }
    lock.unlock();
    if (delivered > 0) doorbell_->ring();
  }

  // Returns the number of messages that came; mutex_ held.
  size_t read(Connection& connection) const {
    if (failure_.failed()) return 0;
    size_t delivered = 0;
    switch (connection.reader.read(&delivered)) {
      case FrameReader::Outcome::kDrained:
      case FrameReader::Outcome::kFull:
        break;
      case FrameReader::Outcome::kEnded:
        on_ended(connection);
        break;
      case FrameReader::Outcome::kFailed:
        if (!failure_.set(connection.reader.failure())) break;
        send_reason(connection.reader.stream(), connection.reader.failure());
        doorbell_->ring();
        break;
    }
    return delivered;
  }

  void on_ended(Connection& connection) const {
    const int number = connection.reader.ended_errno();
    if (connection.reader.ended_in_frame())
      failure_.set(
          connection_ended(spec_, spec_.source, remote_, number).at("in the middle of a message"));
    connection.ended_errno.store(number, std::memory_order_relaxed);
    connection.ended.store(true, std::memory_order_release);
    doorbell_->ring();
  }

  void watch(Connection& connection, bool watched) const {
    connection.watched = watched;
    reactor_->modify(connection.reader.fd(), watched ? uint32_t{EPOLLIN} : 0);
  }

  const LinkSpec spec_;
  const std::string remote_;
  const std::shared_ptr<Reactor> reactor_;
  Doorbell* const doorbell_;
  mutable Inbox inbox_;
  uint64_t head_ = 0;  // the owner's
  mutable LinkFailure failure_;
  mutable std::mutex mutex_;                    // over reading and watching
  mutable std::deque<Connection> connections_;  // stays in place
};

}  // namespace

Result<std::unique_ptr<RecvLink>> make_recv_link(LinkParts parts) {
  STRAIT_ASSIGN(SlotMemory memory, SlotMemory::allocate(parts.spec));
  auto link = std::make_unique<TcpRecvLink>(std::move(parts), std::move(memory));
  STRAIT_TRY(link->start());
  return std::unique_ptr<RecvLink>(std::move(link));
}

}  // namespace strait::tcp
