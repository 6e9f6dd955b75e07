// How a communicator is made, in order: meet (bootstrap), say how each rank is reached, find out by
// trying which transport joins which ranks of a domain, agree on the slower of both directions,
// share the throttle of each domain, part.

#include "comm/join.hpp"

#include <fcntl.h>

#include <algorithm>

#include "base/cuda/context.hpp"
#include "base/fd_exchange.hpp"
#include "base/log.hpp"
#include "comm/bootstrap_levels.hpp"
#include "comm/gpu_slots.hpp"
#include "comm/member.hpp"
#include "comm/peer_trial.hpp"
#include "comm/version.hpp"
#include "topology/discover.hpp"
#include "transport/throttle/throttle.hpp"

namespace strait {
namespace {

constexpr const char* kUplinkPage = "uplink";
constexpr uint8_t kUnreached = 255;
constexpr int64_t kReachTurnMs = 500;
constexpr int64_t kDayMs = 86'400'000;

class Joiner {
 public:
  explicit Joiner(JoinTerms terms)
      : terms_(std::move(terms)),
        rank_(terms_.meeting.rank),
        rank_count_(terms_.meeting.rank_count),
        config_(terms_.config),
        deadline_(Deadline::after_ms(config_.init_timeout_ms)) {}

  Result<std::shared_ptr<Communicator>> join() {
    STRAIT_ASSIGN(bootstrap_, meet());
    if (const Status status = connect(); !status.ok()) {
      bootstrap_->fail(status);
      return status;
    }
    STRAIT_TRY(bootstrap_->barrier(deadline_));
    parts_.rank = rank_;
    parts_.device = terms_.device;
    parts_.config = config_;
    parts_.config.device =
        terms_.device.gpu ? "gpu" : "host";  // what was asked for, as it was found
    parts_.config.gpu_blocks = blocks_beside_each_other(members_);
    parts_.station = station_;
    parts_.kin.secret = bootstrap_->transport_secret();
    parts_.progress = terms_.progress;
    auto made = Communicator::make(std::move(parts_));
    if (config_.rma_eager_init == 1) STRAIT_TRY(made->open_rma());
    return made;
  }

 private:
  Result<std::unique_ptr<Bootstrap>> meet() {
    const Hello hello = make_hello(kVersion, config_.agreed_values());
    return terms_.ids.size() > 1
               ? join_levels(terms_.ids, terms_.meeting, config_, hello, deadline_)
               : Bootstrap::join(terms_.meeting, config_, hello, deadline_);
  }

  Status connect() {
    STRAIT_TRY(make_station());
    STRAIT_ASSIGN(parts_.kin.door, net::Listener::get(config_.port_range));
    STRAIT_ASSIGN(exchange_, FdExchange::get());
    STRAIT_TRY(exchange_members());
    STRAIT_TRY(share_uplink());
    STRAIT_TRY(choose_routes());
    return make_engine();
  }

  Status make_station() {
    station_ = std::make_shared<Station>();
    station_->rank = rank_;
    STRAIT_ASSIGN(station_->doorbell_memory,
                  SharedMemory::create("doorbell", sizeof(DoorbellWord)));
    auto* word = new (station_->doorbell_memory.data()) DoorbellWord;
    station_->doorbell = std::make_unique<Doorbell>(word);
    TransportContext terms = context();
    if (terms_.device.gpu) {
      STRAIT_ASSIGN(terms.device_slots, gpu_slots(terms_.device.ordinal, config_));
    }
    STRAIT_ASSIGN(station_->transports, open_transports(terms));
    return Status();
  }

  TransportContext context() const {
    const Secret& secret = bootstrap_->transport_secret();
    return {.rank = rank_,
            .comm_key = bootstrap_->comm_key(),
            .secret = {secret.begin(), secret.end()},
            .config = config_,
            .doorbell = station_->doorbell.get(),
            .doorbell_fd = station_->doorbell_memory.fd(),
            .device_slots = nullptr};
  }

  Status exchange_members() {
    Member me;
    const std::string host = host_identity(read_system_view(), config_.host_id);
    STRAIT_ASSIGN(const std::string fabric, fabric_of_gpu());
    me.domain = domain_name(
        {.domain = config_.domain, .emulate_domains = config_.emulate_domains, .fabric = fabric},
        host, rank_);
    if (!terms_.domain.empty()) me.domain = terms_.domain;
    me.device = terms_.device.gpu ? "a GPU" : "a host";
    STRAIT_TRY(name_gpu(me));
    me.fd_exchange = exchange_->address();
    STRAIT_ASSIGN(const auto place, own_addresses(*parts_.kin.door, config_));
    me.place = net::text_of(place);
    for (const auto& transport : station_->transports)
      me.addresses[std::string(transport->name())] = transport->address();
    STRAIT_ASSIGN(const auto packed, bootstrap_->all_gather(pack(me), deadline_));
    std::vector<std::string> domains;
    for (const auto& bytes : packed) {
      STRAIT_ASSIGN(Member member, unpack_member(bytes));
      if (member.device != me.device)
        return error(Code::kInvalidUsage,
                     "rank {} is on {} and rank {} on {}: make a GPU's context current on every "
                     "rank, or set STRAIT_DEVICE",
                     rank_, me.device, members_.size(), member.device);
      domains.push_back(member.domain);
      parts_.kin.places.push_back(member.place);
      members_.push_back(std::move(member));
    }
    parts_.topology = Topology::from_names(domains);
    if (rank_ == 0)
      log_info(LogPart::kInit | LogPart::kGraph, "communicator {}of {} ranks, {}",
               config_.comm_name.empty() ? "" : config_.comm_name + " ", rank_count_,
               format(parts_.topology));
    return Status();
  }

  // One bucket per domain, made by its first rank. Where a domain spans processes that cannot share
  // memory, each part keeps to its share of the rate.
  Status share_uplink() {
    if (config_.link_rate == 0) return Status();
    const std::vector<int> ranks = parts_.topology.ranks_of(parts_.topology.domain_of[rank_]);
    const int leader = ranks.front();
    if (leader == rank_) {
      STRAIT_ASSIGN(uplink_, RateBucket::create(config_.link_rate));
      STRAIT_ASSIGN(shelf_, exchange_->open_shelf(bootstrap_->comm_key(), rank_,
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
    log_warn("rank {} cannot share the uplink of rank {} ({}): it keeps to 1/{} of the rate", rank_,
             leader, fetched.status().message(), rank_count);
    STRAIT_ASSIGN(uplink_, RateBucket::create(config_.link_rate / rank_count));
    return Status();
  }

  Status make_engine() {
    if (!terms_.device.gpu) return Status();
    GpuEngine::Terms terms{.device = terms_.device.ordinal,
                           .slots = static_cast<uint32_t>(config_.slots),
                           .slot_bytes = static_cast<size_t>(config_.slot_bytes),
                           .threads = static_cast<uint32_t>(config_.threads),
                           .lanes_max = static_cast<int>(config_.lanes_max),
                           .blocks_max = blocks_beside_each_other(members_),
                           .timeout_ms = config_.timeout_ms > 0 ? config_.timeout_ms : kDayMs,
                           .doorbell = station_->doorbell.get(),
                           .peers = std::nullopt,
                           .keeps_launch_order = config_.launch_order == 1};
    STRAIT_ASSIGN(terms.peers, try_gpu_peers());
    STRAIT_ASSIGN(parts_.engine, GpuEngine::create(std::move(terms)));
    return Status();
  }

  // A multiprocessor has room for one block of the largest kernels.
  Status name_gpu(Member& me) const {
    if (!terms_.device.gpu) return Status();
    STRAIT_ASSIGN(const cuda::Driver* driver, cuda::driver());
    STRAIT_ASSIGN(const cuda::DeviceFacts facts,
                  cuda::device_facts(*driver, terms_.device.ordinal));
    me.gpu.assign(facts.uuid.begin(), facts.uuid.end());
    me.gpu_blocks = static_cast<uint32_t>(std::max(facts.multiprocessors, 1));
    return Status();
  }

  // The NVLink domain of a rank's GPU, where its memory can be handed round in it; else empty.
  Result<std::string> fabric_of_gpu() const {
    if (!terms_.device.gpu || config_.mnnvl == 0) return std::string();
    STRAIT_ASSIGN(const cuda::Driver* driver, cuda::driver());
    return usable_fabric(*driver, terms_.device.ordinal, rank_, config_.mnnvl == 1);
  }

  // Which GPUs of the domain kernels here can write to, and the other way round: both by trying.
  Result<PeerRings::Terms> try_gpu_peers() {
    PeerTrial trial({.rank = rank_,
                     .device = terms_.device.ordinal,
                     .allowed = config_.p2p_disable == 0,
                     .members = members_,
                     .topology = parts_.topology,
                     .bootstrap = *bootstrap_,
                     .exchange = *exchange_,
                     .door = parts_.kin.door,
                     .deadline = deadline_});
    return trial.run();
  }

  // For every peer the fastest transport that reaches it in both directions: both ends must use the
  // same one.
  Status choose_routes() {
    std::vector<std::string> refusals(rank_count_);
    const bool known = !terms_.ways.empty();
    std::vector<uint8_t> ways = known ? terms_.ways : std::vector<uint8_t>();
    if (!known) {
      STRAIT_ASSIGN(ways, try_ways(refusals));
    }
    const std::vector<Transport*> inside = throttle_network();
    for (int peer = 0; peer < rank_count_; ++peer) {
      const size_t way = ways[peer];
      if (way >= station_->transports.size())
        return error(Code::kSystemError, "rank {} and rank {} have no way to each other: {}", rank_,
                     peer, refusals[peer]);
      Transport* transport =
          parts_.topology.same_domain(peer, rank_) ? inside[way] : station_->transports[way].get();
      if (peer != rank_ && !known)
        log_info(LogPart::kInit | LogPart::kP2p, "rank {} reaches rank {} over {}{}{}", rank_, peer,
                 transport->name(), refusals[peer].empty() ? "" : "; ", refusals[peer]);
      parts_.routes.push_back({.transport = transport,
                               .address = members_[peer].addresses[std::string(transport->name())],
                               .rank = peer});
    }
    parts_.kin.ways = std::move(ways);
    return Status();
  }

  // Tells and hears what reaches whom; the slower of both directions counts.
  Result<std::vector<uint8_t>> try_ways(std::vector<std::string>& refusals) {
    std::vector<std::byte> mine;
    for (int peer = 0; peer < rank_count_; ++peer) {
      if (terms_.meeting.stop.stop_requested())
        return error(Code::kInvalidUsage, "the communicator was aborted while it was made");
      mine.push_back(std::byte{first_that_reaches(peer, refusals[peer])});
    }
    STRAIT_ASSIGN(const auto choices, bootstrap_->all_gather(mine, deadline_));
    std::vector<uint8_t> ways;
    for (int peer = 0; peer < rank_count_; ++peer) {
      const auto theirs = static_cast<size_t>(rank_) < choices[peer].size()
                              ? static_cast<uint8_t>(choices[peer][rank_])
                              : kUnreached;
      ways.push_back(std::max(static_cast<uint8_t>(mine[peer]), theirs));
    }
    return ways;
  }

  // Between domains only networks count, so that an emulated rack behaves like a real one.
  uint8_t first_that_reaches(int peer, std::string& refusals) {
    const bool inside = parts_.topology.same_domain(peer, rank_);
    for (size_t i = 0; i < station_->transports.size(); ++i) {
      Transport& transport = *station_->transports[i];
      if (!inside && !is_network(transport)) continue;
      const std::string name(transport.name());
      const Status status = needs_no_trial(transport)
                                ? Status()
                                : reach(transport, peer, members_[peer].addresses[name]);
      if (status.ok()) return static_cast<uint8_t>(i);
      refusals += (refusals.empty() ? "" : "; ") + name + ": " + status.message();
    }
    if (!inside && refusals.empty())
      refusals = "ranks of different domains need a network in STRAIT_TRANSPORTS";
    return kUnreached;
  }

  // In turns, so that a stop ends the wait.
  Status reach(Transport& transport, int peer, const std::string& address) const {
    while (true) {
      const Deadline turn =
          Deadline::after_ms(std::min<int64_t>(deadline_.left_ms(), kReachTurnMs));
      const Status status = transport.reach(peer, address, turn);
      const bool over = deadline_.passed() || terms_.meeting.stop.stop_requested();
      if (status.code() != Code::kTimeout || over) return status;
    }
  }

  static bool is_network(const Transport& transport) {
    return transport.name() == "verbs" || transport.name() == "ucx" || needs_no_trial(transport);
  }
  // The network that there always is: its links say why when they cannot be opened.
  static bool needs_no_trial(const Transport& transport) { return transport.name() == "tcp"; }

  // Puts the throttle on networks; returns the transports without it, for links inside the domain.
  std::vector<Transport*> throttle_network() {
    std::vector<Transport*> inside;
    for (auto& transport : station_->transports) {
      inside.push_back(transport.get());
      if (uplink_ && is_network(*transport)) transport = throttle(std::move(transport), uplink_);
    }
    return inside;
  }

  const JoinTerms terms_;
  const int rank_;
  const int rank_count_;
  const Config& config_;
  const Deadline deadline_;
  Communicator::Parts parts_;
  std::shared_ptr<Station> station_;
  std::unique_ptr<Bootstrap> bootstrap_;
  std::shared_ptr<FdExchange> exchange_;
  std::unique_ptr<FdShelf> shelf_;
  std::shared_ptr<RateBucket> uplink_;
  std::vector<Member> members_;
};

}  // namespace

Result<std::shared_ptr<Communicator>> join(JoinTerms terms) {
  return Joiner(std::move(terms)).join();
}

}  // namespace strait
