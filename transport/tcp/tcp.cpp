#include "transport/tcp/tcp.hpp"

#include <algorithm>
#include <cstring>

#include "base/reactor.hpp"
#include "transport/net/dial.hpp"
#include "transport/net/interfaces.hpp"
#include "transport/net/offers.hpp"
#include "transport/net/socket.hpp"
#include "transport/tcp/recv_link.hpp"
#include "transport/tcp/send_link.hpp"

namespace strait {
namespace {

constexpr size_t kAddressesMax = 16;

class TcpTransport final : public Transport {
 public:
  explicit TcpTransport(const TransportContext& context)
      : context_(context), offers_(context.rank) {}

  Status open() {
    STRAIT_ASSIGN(reactor_, Reactor::get());
    STRAIT_ASSIGN(listener_, net::Listener::get(context_.config.port_range));
    STRAIT_ASSIGN(const std::vector<net::Interface> interfaces, net::read_interfaces());
    STRAIT_ASSIGN(addresses_, net::choose_addresses(interfaces, context_.config.socket_ifname,
                                                    context_.config.socket_family));
    if (addresses_.size() > kAddressesMax) addresses_.resize(kAddressesMax);
    for (net::Address& address : addresses_) address.port = listener_->port();
    STRAIT_ASSIGN(pings_, serve(net::Service::kPing, [](net::Caller) {}));
    STRAIT_ASSIGN(links_, serve(net::Service::kLink,
                                [this](net::Caller caller) { offers_.put(std::move(caller)); }));
    return Status();
  }

  std::string_view name() const override { return "tcp"; }
  LinkSpeed speed() const override { return {.latency_us = 30, .gigabytes_per_second = 1.2}; }
  std::string address() const override { return net::text_of(addresses_); }

  Status reach(int peer, const std::string& peer_address, Deadline deadline) override {
    return dial(peer, peer_address, net::Service::kPing, {}, deadline).status();
  }

  Result<std::unique_ptr<SendLink>> connect(const std::string& peer_address, const LinkSpec& spec,
                                            Deadline deadline) override {
    STRAIT_CHECK(spec.source == context_.rank, "a rank connects the links that it sends on");
    const auto count = static_cast<uint16_t>(context_.config.sockets);
    net::LinkNote note{.lane = static_cast<uint32_t>(spec.lane),
                       .slots = spec.slots,
                       .slot_bytes = spec.slot_bytes,
                       .count = count};
    net::fill_random(std::as_writable_bytes(std::span(&note.attempt, 1)));
    tcp::LinkParts parts = parts_of(spec);
    for (; note.index < count; ++note.index) {
      STRAIT_ASSIGN(net::Connection connection,
                    dial(spec.destination, peer_address, net::Service::kLink, note, deadline));
      net::limit_unacknowledged(connection.fd.get(), context_.config.timeout_ms);
      net::set_traffic_class(connection.fd.get(), context_.config.traffic_class);
      parts.remote = connection.remote;
      parts.fds.push_back(std::move(connection.fd));
    }
    return tcp::make_send_link(std::move(parts));
  }

  Result<std::unique_ptr<RecvLink>> accept(const std::string&, const LinkSpec& spec,
                                           Deadline deadline) override {
    STRAIT_CHECK(spec.destination == context_.rank, "a rank accepts the links that it reads");
    STRAIT_ASSIGN(net::Offer offer, offers_.take(spec, deadline));
    tcp::LinkParts parts = parts_of(spec);
    parts.remote = offer.remote;
    parts.fds = std::move(offer.fds);
    for (const net::Stream& fd : parts.fds)
      net::set_traffic_class(fd.get(), context_.config.traffic_class);
    return tcp::make_recv_link(std::move(parts));
  }

 private:
  Result<std::unique_ptr<net::Registration>> serve(net::Service service,
                                                   net::CallerHandler handler) {
    return listener_->serve({context_.comm_key, service, context_.rank}, context_.secret,
                            std::move(handler));
  }

  Result<net::Connection> dial(int peer, const std::string& peer_address, net::Service service,
                               const net::LinkNote& note, Deadline deadline) const {
    net::Destination destination{.candidates = net::parse_addresses(peer_address, kAddressesMax),
                                 .service = {context_.comm_key, service, peer},
                                 .from = context_.rank,
                                 .note = {}};
    if (destination.candidates.empty())
      return error(Code::kRemoteError, "rank {} gave no TCP address that can be read", peer);
    std::memcpy(destination.note.data(), &note, sizeof note);
    Result<net::Connection> connection = net::dial(destination, context_.secret, deadline);
    if (connection.ok()) return connection;
    return connection.status().at(fmt::format("rank {} is not reached over TCP", peer));
  }

  tcp::LinkParts parts_of(const LinkSpec& spec) const {
    return {
        .spec = spec, .fds = {}, .remote = {}, .reactor = reactor_, .doorbell = context_.doorbell};
  }

  const TransportContext context_;
  std::shared_ptr<Reactor> reactor_;
  std::shared_ptr<net::Listener> listener_;
  std::vector<net::Address> addresses_;
  net::Offers offers_;
  std::unique_ptr<net::Registration> pings_;
  std::unique_ptr<net::Registration> links_;  // ends before offers_, which its handler fills
};

}  // namespace

Result<std::unique_ptr<Transport>> open_tcp(const TransportContext& context) {
  auto transport = std::make_unique<TcpTransport>(context);
  STRAIT_TRY(transport->open());
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace strait
