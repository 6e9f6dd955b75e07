#include "transport/ucx/ucx.hpp"

#include <cstring>
#include <set>
#include <thread>

#include "base/log.hpp"
#include "transport/net/absent.hpp"
#include "transport/net/dial.hpp"
#include "transport/net/interfaces.hpp"
#include "transport/net/link_of_end.hpp"
#include "transport/net/offers.hpp"
#include "transport/net/socket.hpp"
#include "transport/net/trials.hpp"
#include "transport/ucx/address.hpp"
#include "transport/ucx/recv_link.hpp"
#include "transport/ucx/send_link.hpp"

namespace strait {
namespace {

using namespace ucx;

constexpr const char* kLibrary = "libucp.so.0";
constexpr int64_t kTrialMs = 5'000;
constexpr auto kLookEvery = std::chrono::microseconds(100);

// Behind the link's note in the handshake: the sender's id.
net::Note pack(const LinkSpec& spec, uint32_t id) {
  const net::LinkNote link{.lane = static_cast<uint32_t>(spec.lane),
                           .slots = spec.slots,
                           .slot_bytes = spec.slot_bytes,
                           .count = 1};
  net::Note note{};
  std::memcpy(note.data(), &link, sizeof link);
  std::memcpy(note.data() + net::kLinkNoteBytes, &id, sizeof id);
  return note;
}

uint32_t id_of(const net::Note& note) {
  uint32_t id = 0;
  std::memcpy(&id, note.data() + net::kLinkNoteBytes, sizeof id);
  return id;
}

class UcxTransport final : public Transport {
 public:
  explicit UcxTransport(const TransportContext& context)
      : context_(context), offers_(context.rank) {}

  Status open(const Calls& calls) {
    STRAIT_ASSIGN(reactor_, Reactor::get());
    STRAIT_ASSIGN(worker_, Worker::open(calls, reactor_));
    STRAIT_ASSIGN(listener_, net::Listener::get(context_.config.port_range));
    STRAIT_ASSIGN(const std::vector<net::Interface> interfaces, net::read_interfaces());
    RankAddress here{.listener = {}, .worker = worker_->address()};
    STRAIT_ASSIGN(here.listener, net::choose_addresses(interfaces, context_.config.socket_ifname,
                                                       context_.config.socket_family));
    for (net::Address& address : here.listener) address.port = listener_->port();
    address_ = format(here, context_.secret);
    trials_ = std::make_unique<net::Trials>(reactor_);
    STRAIT_ASSIGN(trial_calls_, serve(net::Service::kUcxTrial,
                                      [this](net::Caller caller) { on_trial(std::move(caller)); }));
    STRAIT_ASSIGN(calls_, serve(net::Service::kUcx,
                                [this](net::Caller caller) { offers_.put(std::move(caller)); }));
    return Status();
  }

  std::string_view name() const override { return "ucx"; }
  LinkSpeed speed() const override { return {.latency_us = 10, .gigabytes_per_second = 2}; }
  std::string address() const override { return address_; }

  // A message over a link of its own, which the peer's reactor accepts; tried once.
  Status reach(int peer, const std::string& text, Deadline deadline) override {
    if (net::process_key() != nullptr)
      return error(Code::kInvalidUsage,
                   "rank {} is not reached by UCX: UCX does not encrypt, and ncclSetEncryption "
                   "asks for it; use STRAIT_TRANSPORTS=tcp",
                   peer);
    STRAIT_ASSIGN(const RankAddress address, read(peer, text));
    {
      std::lock_guard lock(mutex_);
      if (reached_.contains(address.worker)) return Status();
    }
    STRAIT_TRY(try_message(peer, address, deadline)
                   .at(fmt::format("rank {} is not reached by UCX", peer)));
    std::lock_guard lock(mutex_);
    reached_.insert(address.worker);
    return Status();
  }

  Result<std::unique_ptr<SendLink>> connect(const std::string& peer_address, const LinkSpec& spec,
                                            Deadline deadline) override {
    STRAIT_CHECK(spec.source == context_.rank, "a rank connects the links that it sends on");
    STRAIT_ASSIGN(const RankAddress address, read(spec.destination, peer_address));
    STRAIT_ASSIGN(auto end, open_sender(net::Service::kUcx, address, spec, deadline));
    return net::send_link_of(std::move(end));
  }

  Result<std::unique_ptr<RecvLink>> accept(const std::string& peer_address, const LinkSpec& spec,
                                           Deadline deadline) override {
    STRAIT_CHECK(spec.destination == context_.rank, "a rank accepts the links that it reads");
    STRAIT_ASSIGN(net::Offer offer, offers_.take(spec, deadline));
    STRAIT_ASSIGN(const RankAddress address, read(spec.source, peer_address));
    auto end = RecvEnd::create(terms_of(spec, spec.source, address.worker), id_of(offer.whole),
                               offer.fds.front(), offer.remote);
    if (end.ok()) return net::recv_link_of(std::move(*end));
    net::send_reason(offer.fds.front(), end.status());
    return end.status();
  }

 private:
  Result<std::unique_ptr<net::Registration>> serve(net::Service service,
                                                   net::CallerHandler handler) {
    return listener_->serve({context_.comm_key, service, context_.rank}, context_.secret,
                            std::move(handler));
  }

  Result<RankAddress> read(int peer, const std::string& text) const {
    if (text.empty()) return error(Code::kSystemError, "rank {} has no UCX", peer);
    auto address = parse_address(text, context_.secret);
    if (!address)
      return error(Code::kRemoteError, "rank {} gave no UCX address that can be trusted", peer);
    return std::move(*address);
  }

  Status try_message(int peer, const RankAddress& address, Deadline deadline) {
    const LinkSpec spec{.source = context_.rank,
                        .destination = peer,
                        .lane = 0,
                        .slots = 1,
                        .slot_bytes = net::kTrialBytes};
    STRAIT_ASSIGN(const auto end, open_sender(net::Service::kUcxTrial, address, spec, deadline));
    const Deadline patience = Deadline::after_ms(kTrialMs);
    if (!end->send_slot().empty()) end->commit(net::kTrialBytes, 0);
    while (!end->flushed()) {
      STRAIT_TRY(end->status());
      if (patience.passed() || deadline.passed())
        return error(deadline.passed() ? Code::kTimeout : Code::kRemoteError,
                     "nothing came back in time; look at UCX_TLS and UCX_NET_DEVICES on both "
                     "hosts, and at firewalls between them");
      std::this_thread::sleep_for(kLookEvery);
    }
    return Status();
  }

  // The peer proves the secret before UCX hears of it.
  Result<std::unique_ptr<SendEnd>> open_sender(net::Service service, const RankAddress& address,
                                               const LinkSpec& spec, Deadline deadline) const {
    STRAIT_ASSIGN(auto end, SendEnd::create(terms_of(spec, spec.destination, address.worker)));
    const net::Destination destination{.candidates = address.listener,
                                       .service = {context_.comm_key, service, spec.destination},
                                       .from = context_.rank,
                                       .note = pack(spec, end->id())};
    Result<net::Connection> connection = net::dial(destination, context_.secret, deadline);
    if (!connection.ok())
      return connection.status().at(
          fmt::format("rank {} is not reached over TCP", spec.destination));
    net::limit_unacknowledged(connection->fd.get(), context_.config.timeout_ms);
    STRAIT_TRY(end->start(std::move(connection->fd), connection->remote));
    return end;
  }

  void on_trial(net::Caller caller) {
    const LinkSpec spec{.source = caller.rank,
                        .destination = context_.rank,
                        .lane = 0,
                        .slots = 1,
                        .slot_bytes = net::kTrialBytes};
    auto end = RecvEnd::create(terms_of(spec, caller.rank, {}), id_of(caller.note), caller.fd,
                               caller.remote);
    if (end.ok()) return trials_->add(net::recv_link_of(std::move(*end)));
    net::send_reason(caller.fd, end.status());
    log_info(LogPart::kNet, "the trial of rank {} fails: {}", caller.rank, end.status().message());
  }

  LinkTerms terms_of(const LinkSpec& spec, int peer, const std::vector<std::byte>& worker) const {
    return {.spec = spec,
            .peer = peer,
            .peer_worker = worker,
            .worker = worker_,
            .reactor = reactor_,
            .doorbell = context_.doorbell};
  }

  const TransportContext context_;
  std::shared_ptr<Reactor> reactor_;
  std::shared_ptr<Worker> worker_;
  std::shared_ptr<net::Listener> listener_;
  std::string address_;
  net::Offers offers_;
  std::unique_ptr<net::Trials> trials_;
  std::unique_ptr<net::Registration> trial_calls_;  // end before what their handlers fill
  std::unique_ptr<net::Registration> calls_;
  std::mutex mutex_;
  std::set<std::vector<std::byte>> reached_;  // workers
};

Result<std::unique_ptr<Transport>> open_with(const TransportContext& context,
                                             const Result<Calls>& calls) {
  if (!calls.ok()) {
    log_info(LogPart::kInit | LogPart::kNet, "no UCX: {}", calls.status().message());
    return net::absent("ucx", "UCX", calls.status());
  }
  auto transport = std::make_unique<UcxTransport>(context);
  STRAIT_TRY(transport->open(*calls));
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace

Result<std::unique_ptr<Transport>> open_ucx(const TransportContext& context) {
  static const Result<Calls> calls = load_calls(kLibrary);
  return open_with(context, calls);
}

Result<std::unique_ptr<Transport>> open_ucx_of(const TransportContext& context,
                                               const std::string& library) {
  return open_with(context, load_calls(library));
}

}  // namespace strait
