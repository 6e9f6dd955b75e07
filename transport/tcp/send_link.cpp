#include "transport/tcp/send_link.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "transport/net/link_failure.hpp"
#include "transport/net/rate_meter.hpp"
#include "transport/tcp/reason_reader.hpp"
#include "transport/tcp/slot_memory.hpp"

namespace strait::tcp {
namespace {

constexpr size_t kFramesPerCall = 8;  // written by one system call

class TcpSendLink final : public SendLink {
 public:
  TcpSendLink(LinkParts parts, SlotMemory memory)
      : spec_(parts.spec),
        remote_(parts.remote.text()),
        reactor_(std::move(parts.reactor)),
        doorbell_(parts.doorbell),
        memory_(std::move(memory)),
        busy_(parts.spec.slots) {
    for (net::Stream& fd : parts.fds) {
      Connection connection;
      connection.next = connections_.size();
      connection.fd = std::move(fd);
      connections_.push_back(std::move(connection));
    }
  }

  ~TcpSendLink() override {
    for (const Connection& connection : connections_) reactor_->remove(connection.fd.get());
    std::lock_guard lock(mutex_);  // a call-back that removed itself may still be leaving
  }

  Status start() {
    for (size_t i = 0; i < connections_.size(); ++i)
      STRAIT_TRY(reactor_->add(connections_[i].fd.get(), EPOLLIN,
                               [this, i](uint32_t events) { on_event(connections_[i], events); }));
    return Status();
  }

  std::span<std::byte> send_slot() override {
    if (failure_.failed()) return {};
    const uint64_t sequence = taken_.load(std::memory_order_relaxed);
    std::atomic<bool>& busy = busy_[sequence % spec_.slots];
    if (busy.load(std::memory_order_acquire)) {
      // Partner: finish_frames() clears busy, then looks at starved_; one of the two sees the
      // other.
      starved_.store(true, std::memory_order_seq_cst);
      if (busy.load(std::memory_order_seq_cst)) return {};
    }
    busy.store(true, std::memory_order_relaxed);
    taken_.store(sequence + 1, std::memory_order_release);
    return memory_.slot(sequence);
  }

  void commit(size_t bytes, uint32_t tag) override {
    STRAIT_CHECK(bytes >= 1 && bytes <= spec_.slot_bytes, "a message has 1 to slot_bytes bytes");
    std::lock_guard lock(mutex_);
    const uint64_t sequence = committed_.load(std::memory_order_relaxed);
    STRAIT_CHECK(sequence < taken_.load(std::memory_order_acquire), "commit without a taken slot");
    const FrameHeader header{.kind = FrameKind::kMessage,
                             .bytes = static_cast<uint32_t>(bytes),
                             .tag = tag,
                             .sequence = static_cast<uint32_t>(sequence)};
    std::memcpy(memory_.frame(sequence), &header, sizeof header);
    committed_.store(sequence + 1, std::memory_order_release);
    Connection& connection = connections_[sequence % connections_.size()];
    if (!connection.waits_for_room) write_frames(connection);
  }

  SlotPlaces places() override { return memory_.places(taken_.load()); }

  bool flushed() const override {
    const auto all_written = [this] {
      return written_.load(std::memory_order_seq_cst) == committed_.load(std::memory_order_acquire);
    };
    if (all_written()) return true;
    starved_.store(true, std::memory_order_seq_cst);  // as in send_slot()
    return all_written();
  }

  LinkRate rate() override {
    // One connection stands for all: messages go round them.
    Connection& connection = connections_.front();
    const uint64_t sent = written_.load(std::memory_order_relaxed) / connections_.size();
    LinkRate rate = connection.meter.measure(connection.fd.get(), sent - measured_);
    measured_ = sent;
    rate.bytes_per_second *= static_cast<double>(connections_.size());
    return rate;
  }

  Status status() const override { return failure_.status(); }

  void abort(const Status& why) override {
    if (!failure_.set(why)) return;
    doorbell_->ring();
    std::lock_guard lock(mutex_);
    reason_ = reason_frame(why);
    for (Connection& connection : connections_)
      if (!connection.waits_for_room) write_frames(connection);
  }

 private:
  struct Connection {
    net::Stream fd;
    uint64_t next = 0;   // sequence number of the frame being written
    size_t written = 0;  // bytes of it
    bool waits_for_room = false;
    bool reason_sent = false;
    ReasonReader reason;
    net::RateMeter meter;
  };

  // Part of its next frame may be on the way.
  static bool has_begun(const Connection& connection) {
    return connection.written > 0 || connection.fd.begun();
  }

  size_t frame_bytes(uint64_t sequence) {
    FrameHeader header;
    std::memcpy(&header, memory_.frame(sequence), sizeof header);
    return sizeof header + header.bytes;
  }

  // Writes what may be written of this connection's frames; mutex_ held.
  void write_frames(Connection& connection) {
    while (true) {
      // After a failure only a frame that has begun is finished, so that the reason can follow it.
      const uint64_t end = !failure_.failed() ? committed_.load(std::memory_order_relaxed)
                                              : connection.next + (has_begun(connection) ? 1 : 0);
      iovec pieces[kFramesPerCall];
      size_t count = 0;
      size_t total = 0;
      for (uint64_t sequence = connection.next; sequence < end && count < kFramesPerCall;
           sequence += connections_.size()) {
        const size_t skipped = count == 0 ? connection.written : 0;
        pieces[count] = {memory_.frame(sequence) + skipped, frame_bytes(sequence) - skipped};
        total += pieces[count++].iov_len;
      }
      if (count == 0) break;
      const ssize_t sent = connection.fd.send(std::span<const iovec>(pieces, count));
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno != EAGAIN) return on_broken(connection, errno);
      if (sent > 0) finish_frames(connection, static_cast<size_t>(sent));
      if (sent < 0 || static_cast<size_t>(sent) < total) return watch(connection, true);
    }
    watch(connection, false);
    if (reason_.empty() || connection.reason_sent) return;
    connection.reason_sent = true;
    [[maybe_unused]] const ssize_t sent = connection.fd.send(reason_);
  }

  void finish_frames(Connection& connection, size_t sent) {
    connection.written += sent;
    uint64_t finished = 0;
    while (connection.written > 0) {
      const size_t bytes = frame_bytes(connection.next);
      if (connection.written < bytes) break;
      connection.written -= bytes;
      busy_[connection.next % spec_.slots].store(false, std::memory_order_seq_cst);
      connection.next += connections_.size();
      ++finished;
    }
    if (finished == 0) return;
    written_.fetch_add(finished, std::memory_order_seq_cst);
    // Partner: send_slot() and flushed() set it before their last look.
    if (starved_.exchange(false, std::memory_order_seq_cst)) doorbell_->ring();
  }

  void watch(Connection& connection, bool room) {
    if (connection.waits_for_room == room) return;
    connection.waits_for_room = room;
    reactor_->modify(connection.fd.get(), room ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }

  void on_event(Connection& connection, uint32_t events) {
    std::lock_guard lock(mutex_);
    if ((events & ~uint32_t{EPOLLOUT}) != 0) {
      const ReasonReader::Outcome outcome = connection.reason.read(connection.fd);
      if (outcome == ReasonReader::Outcome::kReason) fail(reason_of_peer(connection));
      if (outcome == ReasonReader::Outcome::kClosed) fail(closed(errno));
      // Nothing more can come of this connection; its events would repeat for ever.
      if (outcome != ReasonReader::Outcome::kMore) return reactor_->remove(connection.fd.get());
    }
    if ((events & EPOLLOUT) != 0) write_frames(connection);
  }

  // A write failed. The peer may have said why before it closed; the reactor retires the
  // connection.
  void on_broken(Connection& connection, int number) {
    if (connection.reason.read(connection.fd) == ReasonReader::Outcome::kReason)
      return fail(reason_of_peer(connection));
    fail(closed(number));
  }

  Status reason_of_peer(const Connection& connection) const {
    return peer_reason(spec_.destination, connection.reason.text());
  }

  Status closed(int number) const {
    return connection_ended(spec_, spec_.destination, remote_, number);
  }

  void fail(const Status& why) {
    if (failure_.set(why)) doorbell_->ring();
  }

  const LinkSpec spec_;
  const std::string remote_;
  const std::shared_ptr<Reactor> reactor_;
  Doorbell* const doorbell_;
  SlotMemory memory_;
  // By slot: taken, and not yet with the kernel. Partner: send_slot() sets, finish_frames() clears.
  std::vector<std::atomic<bool>> busy_;
  std::atomic<uint64_t> taken_{0};      // partner: commit() checks it
  std::atomic<uint64_t> committed_{0};  // partner: flushed()
  uint64_t measured_ = 0;               // messages of a connection when its rate was last asked
  std::atomic<uint64_t> written_{0};    // partner: flushed()
  mutable std::atomic<bool> starved_{false};  // partner: finish_frames() rings when it is set
  LinkFailure failure_;
  std::mutex mutex_;  // over all below
  std::vector<Connection> connections_;
  std::vector<std::byte> reason_;
};

}  // namespace

Result<std::unique_ptr<SendLink>> make_send_link(LinkParts parts) {
  STRAIT_ASSIGN(SlotMemory memory, SlotMemory::allocate(parts.spec));
  auto link = std::make_unique<TcpSendLink>(std::move(parts), std::move(memory));
  STRAIT_TRY(link->start());
  return std::unique_ptr<SendLink>(std::move(link));
}

}  // namespace strait::tcp
