#include "transport/shm/shm.hpp"

#include <fcntl.h>

#include <charconv>
#include <map>
#include <mutex>

#include "base/fd_exchange.hpp"
#include "base/segments.hpp"
#include "base/shared_memory.hpp"
#include "transport/ring/ring_link.hpp"
#include "transport/shm/shm_peer.hpp"

namespace strait {
namespace {

std::string name_of(const LinkSpec& spec) {
  return fmt::format("link {}->{} lane {}", spec.source, spec.destination, spec.lane);
}

// What a peer asks for when it is lent something.
Result<UniqueFd> segment_named(const std::string& number) {
  uint64_t segment = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), segment);
  if (read.ec != std::errc{})
    return error(Code::kRemoteError, "a peer asks for segment \"{}\"", number);
  return Segments::instance().descriptor(segment);
}

class ShmTransport final : public Transport {
 public:
  explicit ShmTransport(const TransportContext& context) : context_(context) {}

  Status start() {
    if (context_.doorbell_fd < 0)
      return error(Code::kInternalError, "shm: the doorbell of rank {} is not in shared memory",
                   context_.rank);
    UniqueFd doorbell(fcntl(context_.doorbell_fd, F_DUPFD_CLOEXEC, 0));
    if (!doorbell) return system_error("duplicating the descriptor of a doorbell");
    STRAIT_ASSIGN(exchange_, FdExchange::get());
    STRAIT_ASSIGN(shelf_, exchange_->open_shelf(context_.comm_key, context_.rank, context_.secret));
    shelf_->supply(kSegmentPrefix, segment_named);
    return shelf_->publish(kDoorbellName, std::move(doorbell), FdUses::kMany);
  }

  std::string_view name() const override { return "shm"; }
  LinkSpeed speed() const override { return {.latency_us = 1, .gigabytes_per_second = 6}; }
  std::string address() const override { return exchange_->address(); }

  Status reach(int peer, const std::string& peer_address, Deadline deadline) override {
    return find(peer, peer_address, deadline).status();
  }

  Result<std::unique_ptr<SendLink>> connect(const std::string& peer_address, const LinkSpec& spec,
                                            Deadline deadline) override {
    STRAIT_CHECK(spec.source == context_.rank, "a rank connects the links that it sends on");
    STRAIT_ASSIGN(auto peer, find(spec.destination, peer_address, deadline));
    STRAIT_ASSIGN(const size_t bytes, ring_bytes(spec));
    STRAIT_ASSIGN(auto memory, SharedMemory::create(name_of(spec), bytes));
    const RingView view = make_ring(memory.data(), spec);
    STRAIT_TRY(shelf_->publish(name_of(spec), memory.take_fd(), FdUses::kOnce));
    auto end = port(*peer, std::move(memory), spec, view, RingSide::kProducer);
    return make_ring_sender(std::move(end), std::move(peer));
  }

  Result<std::unique_ptr<RecvLink>> accept(const std::string& peer_address, const LinkSpec& spec,
                                           Deadline deadline) override {
    STRAIT_CHECK(spec.destination == context_.rank, "a rank accepts the links that it reads");
    const int64_t start_ns = now_ns();
    STRAIT_ASSIGN(auto peer, find(spec.source, peer_address, deadline));
    STRAIT_ASSIGN(const size_t bytes, ring_bytes(spec));
    auto fetched = fetch_fd(peer_address, context_.comm_key, spec.source, name_of(spec),
                            context_.secret, deadline);
    if (fetched.status().code() == Code::kTimeout)
      return error(Code::kTimeout, "rank {} did not open {} within {} ms", spec.source,
                   name_of(spec), (now_ns() - start_ns) / 1'000'000);
    if (!fetched.ok()) return fetched.status().at(name_of(spec));
    // The sizes are compared before the mapping, so that a difference of settings is told as one.
    STRAIT_ASSIGN(auto head, SharedMemory::map(std::move(fetched->fd), sizeof(RingHeader)));
    STRAIT_TRY(check_ring(head.data(), spec));
    STRAIT_ASSIGN(auto memory, SharedMemory::map(head.take_fd(), bytes));
    memory.take_fd();
    const RingView view = view_ring(memory.data(), spec);
    auto end = port(*peer, std::move(memory), spec, view, RingSide::kConsumer);
    return make_ring_receiver(std::move(end), std::move(peer));
  }

  Result<std::shared_ptr<const SharedMemory>> map_segment(int peer, const std::string& peer_address,
                                                          uint64_t segment,
                                                          Deadline deadline) override {
    STRAIT_ASSIGN(const auto found, find(peer, peer_address, deadline));
    return found->segment(segment, deadline);
  }

 private:
  // The memory that a port uses.
  struct Holding {
    SharedMemory ring;
    std::shared_ptr<Doorbell> peer_doorbell;
  };

  std::shared_ptr<RingPort> port(ShmPeer& peer, SharedMemory memory, const LinkSpec& spec,
                                 const RingView& view, RingSide side) {
    auto holding = std::make_shared<Holding>(Holding{std::move(memory), peer.doorbell()});
    auto made = std::make_shared<RingPort>(
        RingParts{.spec = spec,
                  .view = view,
                  .memory = holding,
                  .own = std::make_shared<Bell>(context_.doorbell),
                  .peer = std::make_shared<Bell>(holding->peer_doorbell.get())},
        side);
    peer.watch(made);
    return made;
  }

  // The other rank, fetched once.
  Result<std::shared_ptr<ShmPeer>> find(int rank, const std::string& address, Deadline deadline) {
    std::lock_guard lock(mutex_);
    auto& known = peers_[{rank, address}];
    if (known != nullptr) {
      STRAIT_TRY(known->status());
      return known;
    }
    STRAIT_ASSIGN(known,
                  ShmPeer::find({address, context_.comm_key, rank, context_.secret}, deadline));
    return known;
  }

  const TransportContext context_;
  std::shared_ptr<FdExchange> exchange_;
  std::unique_ptr<FdShelf> shelf_;
  std::mutex mutex_;
  std::map<std::pair<int, std::string>, std::shared_ptr<ShmPeer>> peers_;
};

}  // namespace

Result<std::unique_ptr<Transport>> open_shm(const TransportContext& context) {
  auto transport = std::make_unique<ShmTransport>(context);
  STRAIT_TRY(transport->start());
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace strait
