#include "transport/verbs/verbs.hpp"

#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "transport/net/absent.hpp"
#include "transport/net/dial.hpp"
#include "transport/net/interfaces.hpp"
#include "transport/net/link_of_end.hpp"
#include "transport/net/offers.hpp"
#include "transport/net/socket.hpp"
#include "transport/net/tls.hpp"
#include "transport/net/trials.hpp"
#include "transport/verbs/own_ports.hpp"
#include "transport/verbs/recv_link.hpp"
#include "transport/verbs/send_link.hpp"

namespace strait {
namespace {

using namespace verbs;

constexpr size_t kListenersMax = 16;
constexpr int64_t kTrialMs = 3'000;
constexpr uint8_t kTrialTimeout = 14;  // 67 ms: eight packets are lost in half a second
constexpr auto kLookEvery = std::chrono::microseconds(100);

// What verbs adds to the note of the handshake.
struct QueueNote {
  Side side;
  uint8_t port = 0;  // of the receiver, and its GID, by their places in its address
  uint8_t gid = 0;
};
static_assert(net::kLinkNoteBytes + sizeof(QueueNote) <= sizeof(net::Note));

net::Note pack(const LinkSpec& spec, const QueueNote& queue) {
  const net::LinkNote link{.lane = static_cast<uint32_t>(spec.lane),
                           .slots = spec.slots,
                           .slot_bytes = spec.slot_bytes,
                           .count = 1};
  net::Note note{};
  std::memcpy(note.data(), &link, sizeof link);
  std::memcpy(note.data() + net::kLinkNoteBytes, &queue, sizeof queue);
  return note;
}

QueueNote queue_of(const net::Note& note) {
  QueueNote queue;
  std::memcpy(&queue, note.data() + net::kLinkNoteBytes, sizeof queue);
  return queue;
}

uint8_t traffic_class_of(const Config& config) {
  const int64_t wish =
      config.ib_traffic_class >= 0 ? config.ib_traffic_class : config.traffic_class;
  return static_cast<uint8_t>(std::max<int64_t>(wish, 0));
}

class VerbsTransport final : public Transport {
 public:
  VerbsTransport(const TransportContext& context, OwnPorts own)
      : context_(context),
        own_(std::move(own)),
        packets_{.timeout = static_cast<uint8_t>(context.config.ib_timeout),
                 .retries = static_cast<uint8_t>(context.config.ib_retry_count),
                 .service_level = static_cast<uint8_t>(context.config.ib_service_level),
                 .traffic_class = traffic_class_of(context.config),
                 .key_index = static_cast<uint16_t>(context.config.ib_pkey)},
        offers_(context.rank) {
    if (own_.reach_gpu) gpu_slots_ = context.device_slots.get();
  }

  Status open() {
    STRAIT_ASSIGN(reactor_, Reactor::get());
    STRAIT_ASSIGN(listener_, net::Listener::get(context_.config.port_range));
    STRAIT_ASSIGN(const std::vector<net::Interface> interfaces, net::read_interfaces());
    STRAIT_ASSIGN(address_.listener,
                  net::choose_addresses(interfaces, context_.config.socket_ifname,
                                        context_.config.socket_family));
    if (address_.listener.size() > kListenersMax) address_.listener.resize(kListenersMax);
    for (net::Address& address : address_.listener) address.port = listener_->port();
    address_.ports = own_.addresses;
    trials_ = std::make_unique<net::Trials>(reactor_);
    STRAIT_ASSIGN(trial_calls_, serve(net::Service::kVerbsTrial,
                                      [this](net::Caller caller) { on_trial(std::move(caller)); }));
    STRAIT_ASSIGN(calls_, serve(net::Service::kVerbs,
                                [this](net::Caller caller) { offers_.put(std::move(caller)); }));
    return Status();
  }

  std::string_view name() const override { return "verbs"; }
  LinkSpeed speed() const override {
    return {.latency_us = 3, .gigabytes_per_second = own_.ports.front().gigabits / 8};
  }
  std::string address() const override { return format(address_); }

  Status reach(int peer, const std::string& peer_address, Deadline deadline) override {
    return find(peer, peer_address, deadline).status();
  }

  Result<std::unique_ptr<SendLink>> connect(const std::string& peer_address, const LinkSpec& spec,
                                            Deadline deadline) override {
    STRAIT_CHECK(spec.source == context_.rank, "a rank connects the links that it sends on");
    STRAIT_ASSIGN(const Found found, find(spec.destination, peer_address, deadline));
    const auto route = route_of(own_.addresses, found.address.ports, found.kind, spec.lane);
    STRAIT_CHECK(route, "a kind of GID that was tried has a route");
    STRAIT_ASSIGN(auto end, open_sender(net::Service::kVerbs, found.address, *route,
                                        terms_of(spec, spec.destination, route->local), deadline));
    return net::send_link_of(std::move(end));
  }

  Result<std::unique_ptr<RecvLink>> accept(const std::string&, const LinkSpec& spec,
                                           Deadline deadline) override {
    STRAIT_CHECK(spec.destination == context_.rank, "a rank accepts the links that it reads");
    STRAIT_ASSIGN(net::Offer offer, offers_.take(spec, deadline));
    STRAIT_ASSIGN(auto end, open_receiver(spec, queue_of(offer.whole), offer.fds.front(),
                                          offer.remote, packets_));
    return net::recv_link_of(std::move(end));
  }

 private:
  struct Found {
    RankAddress address;
    GidKind kind;
  };

  Result<std::unique_ptr<net::Registration>> serve(net::Service service,
                                                   net::CallerHandler handler) {
    return listener_->serve({context_.comm_key, service, context_.rank}, context_.secret,
                            std::move(handler));
  }

  // The peer's address, and the kind of GID by which its ports are reached: tried once for each set
  // of ports.
  Result<Found> find(int peer, const std::string& text, Deadline deadline) {
    const auto address = parse_address(text);
    if (text.empty()) return error(Code::kSystemError, "rank {} has no RDMA port", peer);
    if (!address || address->ports.empty())
      return error(Code::kRemoteError, "rank {} gave no RDMA address that can be read", peer);
    const std::string ports = text.substr(text.find('|'));
    {
      std::lock_guard lock(mutex_);
      if (const auto known = kinds_.find(ports); known != kinds_.end())
        return Found{*address, known->second};
    }
    STRAIT_ASSIGN(const GidKind kind, try_kinds(peer, *address, deadline));
    std::lock_guard lock(mutex_);
    kinds_[ports] = kind;
    return Found{*address, kind};
  }

  Result<GidKind> try_kinds(int peer, const RankAddress& address, Deadline deadline) {
    std::string refusals;
    for (int i = 0; i < kGidKinds; ++i) {
      const auto kind = static_cast<GidKind>(i);
      const auto route = route_of(own_.addresses, address.ports, kind, 0);
      if (!route) continue;
      const Status status = try_route(peer, address, *route, deadline);
      if (status.ok()) return kind;
      if (status.code() == Code::kTimeout) return status;
      refusals +=
          fmt::format("{}{} ({})", refusals.empty() ? "" : "; ", name_of(kind), status.message());
    }
    if (refusals.empty()) refusals = "its ports and ours have no kind of GID in common";
    const Status why =
        error(Code::kRemoteError, "rank {} is not reached by RDMA: {}", peer, refusals);
    // Slow in place of fast, which nobody would notice: loud, once.
    std::lock_guard lock(mutex_);
    if (!std::exchange(warned_, true))
      log_warn("{} has RDMA ports, but {}", own_.ports.front().device, why.message());
    return why;
  }

  // A message over a link of its own, which the peer's reactor accepts.
  Status try_route(int peer, const RankAddress& address, const Route& route, Deadline deadline) {
    const LinkSpec spec{.source = context_.rank,
                        .destination = peer,
                        .lane = 0,
                        .slots = 1,
                        .slot_bytes = net::kTrialBytes};
    LinkTerms terms = terms_of(spec, peer, route.local);
    terms.queue.packets.timeout = kTrialTimeout;
    STRAIT_ASSIGN(const auto end,
                  open_sender(net::Service::kVerbsTrial, address, route, terms, deadline));
    const Deadline patience = Deadline::after_ms(kTrialMs);
    if (!end->send_slot().empty()) end->commit(net::kTrialBytes, 0);
    while (!end->flushed()) {
      STRAIT_TRY(end->status());
      if (patience.passed())
        return error(Code::kRemoteError, "nothing came back within {} ms", kTrialMs);
      std::this_thread::sleep_for(kLookEvery);
    }
    return Status();
  }

  Result<std::unique_ptr<SendEnd>> open_sender(net::Service service, const RankAddress& address,
                                               const Route& route, const LinkTerms& terms,
                                               Deadline deadline) const {
    STRAIT_ASSIGN(auto end, SendEnd::create(terms));
    const net::Destination destination{
        .candidates = address.listener,
        .service = {context_.comm_key, service, terms.peer},
        .from = context_.rank,
        .note = pack(terms.spec, {end->side(), route.remote.port, route.remote.gid})};
    Result<net::Connection> connection = net::dial(destination, context_.secret, deadline);
    if (!connection.ok())
      return connection.status().at(fmt::format("rank {} is not reached over TCP", terms.peer));
    net::limit_unacknowledged(connection->fd.get(), context_.config.timeout_ms);
    STRAIT_TRY(end->start(std::move(connection->fd), connection->remote));
    return end;
  }

  // The peer is told where it fails.
  Result<std::unique_ptr<RecvEnd>> open_receiver(const LinkSpec& spec, const QueueNote& note,
                                                 net::Stream& stream, const net::Address& remote,
                                                 const PacketTerms& packets) const {
    const PortGid local{note.port, note.gid};
    Status status = error(Code::kRemoteError, "rank {} names a port that rank {} does not have",
                          spec.source, context_.rank);
    if (local.port < own_.ports.size() && local.gid < own_.ports[local.port].gids.size()) {
      LinkTerms terms = terms_of(spec, spec.source, local);
      terms.queue.packets = packets;
      auto end = RecvEnd::create(terms, note.side, stream, remote);
      if (end.ok()) return end;
      status = end.status();
    }
    net::send_reason(stream, status);
    return status;
  }

  void on_trial(net::Caller caller) {
    PacketTerms packets = packets_;
    packets.timeout = kTrialTimeout;
    const LinkSpec spec{.source = caller.rank,
                        .destination = context_.rank,
                        .lane = 0,
                        .slots = 1,
                        .slot_bytes = net::kTrialBytes};
    auto end = open_receiver(spec, queue_of(caller.note), caller.fd, caller.remote, packets);
    if (end.ok()) return trials_->add(net::recv_link_of(std::move(*end)));
    log_info(LogPart::kNet, "the trial of rank {} fails: {}", caller.rank, end.status().message());
  }

  LinkTerms terms_of(const LinkSpec& spec, int peer, const PortGid& local) const {
    const Port& port = own_.ports[local.port];
    return {.spec = spec,
            .peer = peer,
            .queue = {.device = own_.devices[local.port],
                      .port = own_.addresses[local.port],
                      .port_number = port.number,
                      .gid = port.gids[local.gid],
                      .packets = packets_},
            .slots_to_read = context_.config.gdr_read != 0 ? gpu_slots_ : nullptr,
            .slots_to_write = gpu_slots_,
            .reactor = reactor_,
            .doorbell = context_.doorbell};
  }

  const TransportContext context_;
  const OwnPorts own_;
  const PacketTerms packets_;
  std::shared_ptr<Reactor> reactor_;
  std::shared_ptr<net::Listener> listener_;
  RankAddress address_;
  net::Offers offers_;
  std::unique_ptr<net::Trials> trials_;
  std::unique_ptr<net::Registration> trial_calls_;  // end before what their handlers fill
  std::unique_ptr<net::Registration> calls_;
  std::mutex mutex_;  // over both below
  bool warned_ = false;
  std::map<std::string, GidKind> kinds_;   // by the ports of a peer
  DeviceSlotSource* gpu_slots_ = nullptr;  // where our ports are near enough to the GPU
};

}  // namespace

Result<std::unique_ptr<Transport>> open_verbs(const TransportContext& context) {
  if (net::process_key() != nullptr)
    return net::absent("verbs", "RDMA",
                       error(Code::kInvalidUsage,
                             "RDMA does not encrypt, and this process wants its connections "
                             "encrypted (ncclSetEncryption)"));
  auto own = open_ports(context.config, context.device_slots.get());
  if (!own.ok()) {
    log_info(LogPart::kInit | LogPart::kNet, "no RDMA: {}", own.status().message());
    return net::absent("verbs", "RDMA", own.status());
  }
  log_info(LogPart::kInit | LogPart::kNet, "RDMA by {}", own->text());
  auto transport = std::make_unique<VerbsTransport>(context, std::move(*own));
  STRAIT_TRY(transport->open());
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace strait
