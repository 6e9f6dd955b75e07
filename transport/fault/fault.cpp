#include "transport/fault/fault.hpp"

#include <deque>
#include <mutex>
#include <random>

#include "transport/throttle/held_sender.hpp"
#include "transport/wrapped_transport.hpp"

namespace strait {
namespace {

class FaultSender final : public SendLink {
 public:
  FaultSender(std::unique_ptr<SendLink> inner, const LinkSpec& link, const FaultSpec& spec,
              uint64_t seed)
      : inner_(std::move(inner)), link_(link), spec_(spec), random_(seed) {}

  std::span<std::byte> send_slot() override {
    const std::span<std::byte> slot = inner_->send_slot();
    std::lock_guard lock(mutex_);
    if (!slot.empty()) taken_.push_back(slot);
    return slot;
  }

  void commit(size_t bytes, uint32_t tag) override {
    STRAIT_CHECK(bytes > 0 && bytes <= link_.slot_bytes, "a message fills 1 byte to one slot");
    {
      std::lock_guard lock(mutex_);
      const std::span<std::byte> slot = next_taken();
      const int64_t before = passed_++;
      if (stalls(before)) return;
      if (spec_.corrupt_after == before) flip_a_bit(slot.first(bytes));
      if (!cuts(before)) return inner_->commit(bytes, tag);
    }
    cut();
  }

  // What is to be spoilt goes through a slot: the sender's own memory is not ours.
  bool reaches(std::span<const std::byte> bytes) const override {
    std::lock_guard lock(mutex_);
    return spec_.corrupt_after != passed_ && inner_->reaches(bytes);
  }
  uint64_t lend(std::span<const std::byte> bytes, uint32_t tag) override {
    uint64_t number = 0;
    {
      std::lock_guard lock(mutex_);
      next_taken();
      const int64_t before = passed_++;
      number = static_cast<uint64_t>(passed_);
      if (stalls(before)) return number;
      if (!cuts(before)) return inner_->lend(bytes, tag);
    }
    cut();
    return number;
  }
  bool returned(uint64_t number) override { return inner_->returned(number); }
  bool is_read() const override { return inner_->is_read(); }

  SlotPlaces places() override { return inner_->places(); }
  bool flushed() const override {
    std::lock_guard lock(mutex_);
    return !stalled_ && inner_->flushed();
  }
  LinkRate rate() override { return inner_->rate(); }
  Status status() const override { return inner_->status(); }
  bool peer_gave_up() const override { return inner_->peer_gave_up(); }
  void abort(const Status& why) override { inner_->abort(why); }

 private:
  std::span<std::byte> next_taken() {
    STRAIT_CHECK(!taken_.empty(), "no slot was taken");
    const std::span<std::byte> slot = taken_.front();
    taken_.pop_front();
    return slot;
  }
  bool stalls(int64_t before) {
    stalled_ = stalled_ || (spec_.stall_after && before >= *spec_.stall_after);
    return stalled_;
  }
  bool cuts(int64_t before) const { return spec_.cut_after && before >= *spec_.cut_after; }
  void cut() {
    inner_->abort(error(Code::kRemoteError,
                        "link {}->{} lane {} was cut after {} messages, as STRAIT_FAULT asks",
                        link_.source, link_.destination, link_.lane, *spec_.cut_after));
  }
  void flip_a_bit(std::span<std::byte> bytes) {
    const uint64_t bit = random_() % (bytes.size() * 8);
    bytes[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  }

  const std::unique_ptr<SendLink> inner_;
  const LinkSpec link_;
  const FaultSpec spec_;
  mutable std::mutex mutex_;  // guards all below: commit() may come from another thread
  std::mt19937_64 random_;
  std::deque<std::span<std::byte>> taken_;
  int64_t passed_ = 0;
  bool stalled_ = false;
};

class FaultTransport final : public WrappedTransport {
 public:
  FaultTransport(std::unique_ptr<Transport> inner, const FaultSpec& spec)
      : WrappedTransport(std::move(inner)), spec_(spec) {}

  Result<std::unique_ptr<SendLink>> connect(const std::string& peer_address, const LinkSpec& link,
                                            Deadline deadline) override {
    STRAIT_ASSIGN(auto sender, WrappedTransport::connect(peer_address, link, deadline));
    std::seed_seq mix{spec_.seed, int64_t{link.source}, int64_t{link.destination},
                      int64_t{link.lane}};
    std::mt19937_64 random(mix);
    if (spec_.delay_us > 0) {
      STRAIT_ASSIGN(auto reactor, Reactor::get());
      auto late = [delay = std::uniform_int_distribution<int64_t>(0, spec_.delay_us * 1000),
                   random](size_t) mutable { return now_ns() + delay(random); };
      sender = std::make_unique<HeldSender>(std::move(sender), link, std::move(reactor), late);
    }
    return std::unique_ptr<SendLink>(
        std::make_unique<FaultSender>(std::move(sender), link, spec_, random()));
  }

 private:
  const FaultSpec spec_;
};

}  // namespace

std::unique_ptr<Transport> inject_faults(std::unique_ptr<Transport> inner, const FaultSpec& spec) {
  return std::make_unique<FaultTransport>(std::move(inner), spec);
}

}  // namespace strait
