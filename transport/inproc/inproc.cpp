#include "transport/inproc/inproc.hpp"

#include <cstring>
#include <new>

#include "transport/inproc/registry.hpp"
#include "transport/ring/ring_link.hpp"

namespace strait {
namespace {

constexpr std::align_val_t kAlignment{kCacheLine};

class InprocTransport final : public Transport {
 public:
  explicit InprocTransport(const TransportContext& context)
      : context_(context), address_(InprocRegistry::instance().enter(context)) {}
  ~InprocTransport() override { InprocRegistry::instance().leave(address_); }

  std::string_view name() const override { return "inproc"; }
  LinkSpeed speed() const override { return {.latency_us = 0.5, .gigabytes_per_second = 8}; }
  std::string address() const override { return address_; }

  Status reach(int peer, const std::string& peer_address, Deadline) override {
    return InprocRegistry::instance().find(peer_address, peer, context_);
  }

  Result<std::unique_ptr<SendLink>> connect(const std::string& peer_address, const LinkSpec& spec,
                                            Deadline deadline) override {
    STRAIT_CHECK(spec.source == context_.rank, "a rank connects the links that it sends on");
    STRAIT_TRY(reach(spec.destination, peer_address, deadline));
    STRAIT_ASSIGN(const size_t bytes, ring_bytes(spec));
    auto* memory = static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow));
    if (memory == nullptr)
      return error(Code::kSystemError,
                   "link {}->{} lane {}: no memory for {} bytes of slots; lower STRAIT_SLOTS or "
                   "STRAIT_SLOT_BYTES",
                   spec.source, spec.destination, spec.lane, bytes);
    auto ring = std::make_shared<InprocRing>();
    ring->spec = spec;
    ring->memory = {memory, [](std::byte* mine) { ::operator delete(mine, kAlignment); }};
    ring->view = make_ring(memory, spec);
    ring->producer_bell->attach(context_.doorbell);
    STRAIT_TRY(InprocRegistry::instance().offer(address_, peer_address, ring));
    return make_ring_sender(port(ring, RingSide::kProducer), std::make_shared<ProcessReach>());
  }

  Result<std::unique_ptr<RecvLink>> accept(const std::string& peer_address, const LinkSpec& spec,
                                           Deadline deadline) override {
    STRAIT_CHECK(spec.destination == context_.rank, "a rank accepts the links that it reads");
    STRAIT_TRY(reach(spec.source, peer_address, deadline));
    STRAIT_ASSIGN(auto ring,
                  InprocRegistry::instance().take(peer_address, address_, spec, deadline));
    STRAIT_TRY(check_ring(ring->memory.get(), spec));
    ring->consumer_bell->attach(context_.doorbell);
    return make_ring_receiver(port(ring, RingSide::kConsumer), std::make_shared<ProcessReach>());
  }

 private:
  static std::shared_ptr<RingPort> port(const std::shared_ptr<InprocRing>& ring, RingSide side) {
    const bool producer = side == RingSide::kProducer;
    return std::make_shared<RingPort>(
        RingParts{.spec = ring->spec,
                  .view = ring->view,
                  .memory = ring,
                  .own = producer ? ring->producer_bell : ring->consumer_bell,
                  .peer = producer ? ring->consumer_bell : ring->producer_bell},
        side);
  }

  const TransportContext context_;
  const std::string address_;
};

}  // namespace

Result<std::unique_ptr<Transport>> open_inproc(const TransportContext& context) {
  return std::unique_ptr<Transport>(std::make_unique<InprocTransport>(context));
}

}  // namespace strait
