// How a communicator is made, in order: meet (bootstrap), say how each rank is reached, find out by
// trying which transport joins which ranks of a domain, agree on the slower of both directions,
// share the throttle of each domain, part.

#include <fcntl.h>

#include <algorithm>

#include "base/fd_exchange.hpp"
#include "base/log.hpp"
#include "comm/bootstrap.hpp"
#include "comm/communicator.hpp"
#include "comm/member.hpp"
#include "comm/version.hpp"
#include "topology/discover.hpp"
#include "transport/throttle/throttle.hpp"

namespace strait {
namespace {

constexpr const char* kUplinkPage = "uplink";
constexpr uint8_t kUnreached = 255;

class Joiner {
 public:
  Joiner(const UniqueId& id, int rank, int rank_count, int device, const Config& config)
      : id_(id), rank_count_(rank_count), deadline_(Deadline::after_ms(config.init_timeout_ms)) {
    parts_.rank = rank;
    parts_.device = device;
    parts_.config = config;
  }

  Result<std::shared_ptr<Communicator>> join() {
    STRAIT_ASSIGN(bootstrap_,
                  Bootstrap::join(id_, parts_.rank, rank_count_, parts_.config,
                                  make_hello(kVersion, parts_.config.agreed_values()), deadline_));
    if (const Status status = connect(); !status.ok()) {
      bootstrap_->fail(status);
      return status;
    }
    STRAIT_TRY(bootstrap_->barrier(deadline_));
    return std::make_shared<Communicator>(std::move(parts_));
  }

 private:
  Status connect() {
    STRAIT_TRY(make_doorbell());
    STRAIT_ASSIGN(parts_.transports, open_transports(context()));
    STRAIT_ASSIGN(exchange_, FdExchange::get());
    STRAIT_TRY(exchange_members());
    STRAIT_TRY(share_uplink());
    return choose_routes();
  }

  Status make_doorbell() {
    STRAIT_ASSIGN(parts_.doorbell_memory, SharedMemory::create("doorbell", sizeof(DoorbellWord)));
    auto* word = new (parts_.doorbell_memory.data()) DoorbellWord;
    parts_.doorbell = std::make_unique<Doorbell>(word);
    return Status();
  }

  TransportContext context() const {
    const Secret& secret = bootstrap_->transport_secret();
    return {.rank = parts_.rank,
            .comm_key = bootstrap_->comm_key(),
            .secret = {secret.begin(), secret.end()},
            .config = parts_.config,
            .doorbell = parts_.doorbell.get(),
            .doorbell_fd = parts_.doorbell_memory.fd()};
  }

  Status exchange_members() {
    Member me;
    const Config& config = parts_.config;
    const std::string host = host_identity(read_system_view(), config.host_id);
    me.domain = domain_name({.domain = config.domain, .emulate_domains = config.emulate_domains},
                            host, parts_.rank);
    me.fd_exchange = exchange_->address();
    for (const auto& transport : parts_.transports)
      me.addresses[std::string(transport->name())] = transport->address();
    STRAIT_ASSIGN(const auto packed, bootstrap_->all_gather(pack(me), deadline_));
    std::vector<std::string> domains;
    for (const auto& bytes : packed) {
      STRAIT_ASSIGN(Member member, unpack_member(bytes));
      domains.push_back(member.domain);
      members_.push_back(std::move(member));
    }
    parts_.topology = Topology::from_names(domains);
    if (parts_.rank == 0)
      log_info("communicator of {} ranks, {}", rank_count_, format(parts_.topology));
    return Status();
  }

  // One bucket per domain, made by its first rank. Where a domain spans processes that cannot share
  // memory, each part keeps to its share of the rate.
  Status share_uplink() {
    if (parts_.config.link_rate == 0) return Status();
    const std::vector<int> ranks = parts_.topology.ranks_of(parts_.topology.domain_of[parts_.rank]);
    const int leader = ranks.front();
    if (leader == parts_.rank) {
      STRAIT_ASSIGN(uplink_, RateBucket::create(parts_.config.link_rate));
      STRAIT_ASSIGN(shelf_, exchange_->open_shelf(bootstrap_->comm_key(), parts_.rank,
                                                  bootstrap_->transport_secret()));
      UniqueFd fd(fcntl(uplink_->fd(), F_DUPFD_CLOEXEC, 0));
      if (!fd) return system_error("cannot share the uplink's page");
      STRAIT_TRY(shelf_->publish(kUplinkPage, std::move(fd), FdUses::kMany));
    } else {
      STRAIT_TRY(fetch_uplink(leader, static_cast<int64_t>(ranks.size())));
    }
    return bootstrap_->barrier(deadline_);
  }

  Status fetch_uplink(int leader, int64_t rank_count) {
    auto fetched = fetch_fd(members_[leader].fd_exchange, bootstrap_->comm_key(), leader,
                            kUplinkPage, bootstrap_->transport_secret(), deadline_);
    if (fetched.ok()) {
      STRAIT_ASSIGN(uplink_, RateBucket::map(std::move(fetched->fd)));
      return Status();
    }
    log_warn("rank {} cannot share the uplink of rank {} ({}): it keeps to 1/{} of the rate",
             parts_.rank, leader, fetched.status().message(), rank_count);
    STRAIT_ASSIGN(uplink_, RateBucket::create(parts_.config.link_rate / rank_count));
    return Status();
  }

  // For every peer the fastest transport that reaches it in both directions: both ends must use the
  // same one.
  Status choose_routes() {
    std::vector<std::byte> mine;
    std::vector<std::string> refusals(rank_count_);
    for (int peer = 0; peer < rank_count_; ++peer)
      mine.push_back(std::byte{first_that_reaches(peer, refusals[peer])});
    STRAIT_ASSIGN(const auto choices, bootstrap_->all_gather(mine, deadline_));
    const std::vector<Transport*> inside = throttle_network();
    for (int peer = 0; peer < rank_count_; ++peer) {
      const auto theirs = static_cast<size_t>(parts_.rank) < choices[peer].size()
                              ? static_cast<uint8_t>(choices[peer][parts_.rank])
                              : kUnreached;
      const size_t chosen = std::max(static_cast<uint8_t>(mine[peer]), theirs);
      if (chosen >= parts_.transports.size())
        return error(Code::kSystemError, "rank {} and rank {} have no way to each other: {}",
                     parts_.rank, peer, refusals[peer]);
      Transport* transport = parts_.topology.same_domain(peer, parts_.rank)
                                 ? inside[chosen]
                                 : parts_.transports[chosen].get();
      if (peer != parts_.rank)
        log_info("rank {} reaches rank {} over {}{}{}", parts_.rank, peer, transport->name(),
                 refusals[peer].empty() ? "" : "; ", refusals[peer]);
      parts_.routes.push_back(
          {.transport = transport,
           .address = members_[peer].addresses[std::string(transport->name())]});
    }
    return Status();
  }

  // Between domains only networks count, so that an emulated rack behaves like a real one.
  uint8_t first_that_reaches(int peer, std::string& refusals) {
    const bool inside = parts_.topology.same_domain(peer, parts_.rank);
    for (size_t i = 0; i < parts_.transports.size(); ++i) {
      Transport& transport = *parts_.transports[i];
      if (!inside) {
        if (is_network(transport)) return static_cast<uint8_t>(i);
        continue;
      }
      const std::string name(transport.name());
      const Status status = is_network(transport)
                                ? Status()  // its links say why when they cannot be opened
                                : transport.reach(peer, members_[peer].addresses[name], deadline_);
      if (status.ok()) return static_cast<uint8_t>(i);
      refusals += (refusals.empty() ? "" : "; ") + name + ": " + status.message();
    }
    if (!inside) refusals = "ranks of different domains need a network in STRAIT_TRANSPORTS";
    return kUnreached;
  }

  static bool is_network(const Transport& transport) { return transport.name() == "tcp"; }

  // Puts the throttle on networks; returns the transports without it, for links inside the domain.
  std::vector<Transport*> throttle_network() {
    std::vector<Transport*> inside;
    for (auto& transport : parts_.transports) {
      inside.push_back(transport.get());
      if (uplink_ && is_network(*transport)) transport = throttle(std::move(transport), uplink_);
    }
    return inside;
  }

  const UniqueId& id_;
  const int rank_count_;
  const Deadline deadline_;
  Communicator::Parts parts_;
  std::unique_ptr<Bootstrap> bootstrap_;
  std::shared_ptr<FdExchange> exchange_;
  std::unique_ptr<FdShelf> shelf_;
  std::shared_ptr<RateBucket> uplink_;
  std::vector<Member> members_;
};

}  // namespace

Result<std::shared_ptr<Communicator>> Communicator::join(const UniqueId& id, int rank,
                                                         int rank_count, int device,
                                                         const Config& config) {
  return Joiner(id, rank, rank_count, device, config).join();
}

}  // namespace strait
