#include "transport/ring/ring_link.hpp"

#include <cstring>

namespace strait {
namespace {

Status nonsense(const RingPort& port) {
  const LinkSpec& spec = port.spec();
  return error(Code::kRemoteError, "rank {} wrote nonsense into the ring of link {}->{} lane {}",
               port.peer_rank(), spec.source, spec.destination, spec.lane);
}

class RingSender final : public SendLink {
 public:
  RingSender(std::shared_ptr<RingPort> port, std::shared_ptr<Reach> reach)
      : reach_(std::move(reach)), port_(std::move(port)), view_(port_->view()) {}
  ~RingSender() override { port_->close(); }

  std::span<std::byte> send_slot() override {
    if (port_->stopped() || port_->peer_gone()) return {};
    const uint64_t taken = taken_.load(std::memory_order_relaxed);
    if (taken - released_ >= view_.slots && !see_released(taken)) return {};
    taken_.store(taken + 1, std::memory_order_relaxed);
    return {view_.slot(taken), view_.slot_bytes};
  }

  void commit(size_t bytes, uint32_t tag) override { post(bytes, tag, false); }

  bool reaches(std::span<const std::byte> bytes) const override {
    return reach_ != nullptr && view_.slot_bytes >= sizeof(Reference) &&
           reach_->name(bytes).has_value();
  }

  uint64_t lend(std::span<const std::byte> bytes, uint32_t tag) override {
    const Reference reference = reach_->name(bytes).value_or(Reference{});
    std::memcpy(view_.slot(committed_), &reference, sizeof reference);
    lent_.store(committed_ + 1, std::memory_order_relaxed);
    post(sizeof reference, tag, true);
    return committed_;
  }

  bool returned(uint64_t number) override {
    if (number <= given_back_) return true;
    RingHeader& header = *view_.header;
    given_back_ = header.released.load(std::memory_order_acquire);
    if (number <= given_back_) return true;
    if (header.producer_waits.load(std::memory_order_relaxed) == 0)
      header.producer_waits.store(1, std::memory_order_seq_cst);
    given_back_ = header.released.load(std::memory_order_seq_cst);
    return number <= given_back_;
  }

  bool is_read() const override {
    if (lent_.load(std::memory_order_relaxed) == 0 || port_->peer_gone()) return false;
    // With the fence in the consumer's pin(): either it sees the failure or we see that it reads.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return view_.header->reading.load(std::memory_order_acquire) != 0;
  }

  bool flushed() const override {
    // Memory that nobody has attached goes with this process.
    return committed_ == 0 || view_.header->consumer_came.load(std::memory_order_acquire) != 0;
  }
  Status status() const override { return port_->status(true); }
  bool peer_gave_up() const override { return port_->peer_gave_up(); }
  void abort(const Status& why) override { port_->abort(why); }

 private:
  void post(size_t bytes, uint32_t tag, bool lent) {
    STRAIT_CHECK(bytes > 0 && bytes <= view_.slot_bytes, "a message fills 1 byte to one slot");
    STRAIT_CHECK(committed_ != taken_.load(std::memory_order_relaxed), "no slot was taken");
    SlotHeader& header = view_.slot_header(committed_);
    header.bytes = bytes;
    header.tag = tag;
    header.lent = lent ? 1 : 0;
    ++committed_;
    // seq_cst here and in the consumer's see_committed(): either it sees the message or we see that
    // it waits.
    view_.header->committed.store(committed_, std::memory_order_seq_cst);
    if (view_.header->consumer_waits.load(std::memory_order_seq_cst) == 0) return;
    view_.header->consumer_waits.store(0, std::memory_order_relaxed);
    port_->peer_bell().ring();
  }

  // Looks at what the consumer gave back; true if a slot is free.
  bool see_released(uint64_t taken) {
    RingHeader& header = *view_.header;
    released_ = header.released.load(std::memory_order_acquire);
    if (taken - released_ == view_.slots) {
      if (header.producer_waits.load(std::memory_order_relaxed) == 0)
        header.producer_waits.store(1, std::memory_order_seq_cst);
      released_ = header.released.load(std::memory_order_seq_cst);
    }
    const uint64_t in_use = taken - released_;
    if (in_use < view_.slots) return true;
    if (in_use > view_.slots) port_->fail(nonsense(*port_));
    return false;
  }

  const std::shared_ptr<Reach> reach_;
  const std::shared_ptr<RingPort> port_;
  const RingView view_;
  std::atomic<uint64_t> taken_{0};  // partner: the check in post(), perhaps on another thread
  uint64_t released_ = 0;           // last seen; the taking thread's
  uint64_t given_back_ = 0;         // the same, of the thread that asks for what it lent
  uint64_t committed_ = 0;          // the committing thread's
  std::atomic<uint64_t> lent_{0};   // the last message that was; partner: is_read()
};

class RingReceiver final : public RecvLink {
 public:
  RingReceiver(std::shared_ptr<RingPort> port, std::shared_ptr<Reach> reach)
      : reach_(std::move(reach)), port_(std::move(port)), view_(port_->view()) {
    view_.header->consumer_came.store(1, std::memory_order_release);
  }
  ~RingReceiver() override { port_->close(); }

  Message recv_slot() override {
    if (port_->stopped()) return {};
    if (!oldest_.bytes.empty()) return oldest_;
    if (committed_ == released_ && !see_committed()) return {};
    const SlotHeader& header = view_.slot_header(released_);
    // Read once: the other side could change it after the check.
    const size_t bytes = static_cast<const volatile uint64_t&>(header.bytes);
    if (bytes == 0 || bytes > view_.slot_bytes) {
      port_->fail(nonsense(*port_));
      return {};
    }
    if (static_cast<const volatile uint32_t&>(header.lent) != 0) return find(bytes, header.tag);
    oldest_ = {{view_.slot(released_), bytes}, header.tag};
    return oldest_;
  }

  bool pin() override {
    if (!lent_) return true;
    view_.header->reading.store(1, std::memory_order_relaxed);
    // With the fence in the producer's is_read(): either it sees that we read or we see its end.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!port_->stopped()) return true;
    unpin();
    return false;
  }

  void unpin() override {
    if (lent_) view_.header->reading.store(0, std::memory_order_release);
  }

  void release() override {
    STRAIT_CHECK(!oldest_.bytes.empty(), "no message was received");
    oldest_ = {};
    if (lent_) {
      unpin();
      lent_ = false;
      keeps_.reset();
    }
    ++released_;
    // seq_cst here and in the producer's see_released(): either it sees the slot or we see that it
    // waits.
    view_.header->released.store(released_, std::memory_order_seq_cst);
    if (view_.header->producer_waits.load(std::memory_order_seq_cst) == 0) return;
    view_.header->producer_waits.store(0, std::memory_order_relaxed);
    port_->peer_bell().ring();
  }

  bool peer_gave_up() const override { return port_->peer_gave_up(); }
  Status status() const override {
    // A message may have come in between the look at the ring and the other rank's leaving.
    const bool gone = port_->peer_gone();
    const bool drained = oldest_.bytes.empty() &&
                         view_.header->committed.load(std::memory_order_acquire) == released_;
    return port_->status(gone && drained);
  }
  void abort(const Status& why) override { port_->abort(why); }

 private:
  // The bytes of a message that was lent.
  Message find(size_t bytes, uint32_t tag) {
    Reference reference;
    if (reach_ == nullptr || bytes != sizeof reference) {
      port_->fail(nonsense(*port_));
      return {};
    }
    std::memcpy(&reference, view_.slot(released_), sizeof reference);
    auto found = reach_->find(reference);
    if (!found.ok()) {
      port_->fail(found.status());
      return {};
    }
    if (found->bytes.empty()) {
      // Its rank does not answer now: the owner shall look again.
      port_->own_bell().ring();
      return {};
    }
    lent_ = true;
    keeps_ = std::move(found->keeps);
    oldest_ = {found->bytes, tag};
    return oldest_;
  }

  // Looks at what the producer posted; true if there is a message.
  bool see_committed() {
    RingHeader& header = *view_.header;
    committed_ = header.committed.load(std::memory_order_acquire);
    if (committed_ == released_) {
      // Seldom a store while a rank polls many idle links: the line stays shared.
      if (header.consumer_waits.load(std::memory_order_relaxed) == 0)
        header.consumer_waits.store(1, std::memory_order_seq_cst);
      committed_ = header.committed.load(std::memory_order_seq_cst);
    }
    const uint64_t waiting = committed_ - released_;
    if (waiting > 0 && waiting <= view_.slots) return true;
    if (waiting > view_.slots) port_->fail(nonsense(*port_));
    return false;
  }

  const std::shared_ptr<Reach> reach_;
  const std::shared_ptr<RingPort> port_;
  const RingView view_;
  Message oldest_;                     // until release()
  bool lent_ = false;                  // it lies in the sender's memory
  std::shared_ptr<const void> keeps_;  // which this keeps readable
  uint64_t committed_ = 0;             // last seen
  uint64_t released_ = 0;
};

}  // namespace

std::unique_ptr<SendLink> make_ring_sender(std::shared_ptr<RingPort> port,
                                           std::shared_ptr<Reach> reach) {
  return std::make_unique<RingSender>(std::move(port), std::move(reach));
}

std::unique_ptr<RecvLink> make_ring_receiver(std::shared_ptr<RingPort> port,
                                             std::shared_ptr<Reach> reach) {
  return std::make_unique<RingReceiver>(std::move(port), std::move(reach));
}

}  // namespace strait
