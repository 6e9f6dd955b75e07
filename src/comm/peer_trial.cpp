#include "comm/peer_trial.hpp"

#include <algorithm>

#include "base/cuda/context.hpp"
#include "base/cuda/device.hpp"
#include "base/cuda/nvml.hpp"
#include "base/log.hpp"

namespace strait {
namespace {

constexpr int64_t kTryMs = 10'000;
constexpr size_t kAddressesMax = 16;

}  // namespace

Result<std::string> usable_fabric(const cuda::Driver& driver, int device, int rank, bool must) {
  STRAIT_ASSIGN(const cuda::DeviceFacts facts, cuda::device_facts(driver, device));
  STRAIT_ASSIGN(const cuda::FabricFacts fabric, cuda::fabric_facts(facts.pci_bus_id));
  const std::string key = fabric.domain_key();
  if (key.empty()) return key;
  STRAIT_ASSIGN(const auto context, cuda::PrimaryContext::retain(driver, device));
  const Status works = facts.fabric_handles
                           ? cuda::try_fabric(driver, context.get(), device)
                           : error(Code::kSystemError, "the driver has no fabric handles");
  if (works.ok()) return key;
  const Status why =
      error(Code::kSystemError,
            "rank {}: GPU {} is in the NVLink domain {} and cannot share memory with its other "
            "hosts: {}; "
            "start nvidia-imex on every host of the domain and give this user a channel "
            "(/dev/nvidia-caps-imex-channels)",
            rank, device, key, works.message());
  if (must) return why;
  log_warn("{}; they are reached over the network", why.message());
  return std::string();
}

Result<PeerRings::Terms> PeerTrial::run() {
  STRAIT_TRY(open_shelves());
  STRAIT_ASSIGN(const cuda::Driver* driver, cuda::driver());
  STRAIT_ASSIGN(const auto context, cuda::PrimaryContext::retain(*driver, terms_.device));
  STRAIT_ASSIGN(found_.own, ways_of(*driver, context.get(), terms_.device));
  const PeerPlace place{driver, context.get(), terms_.device, found_.own};
  // What cannot be shared is tried by nobody; the others hear of it at once.
  const auto probe = terms_.allowed ? PeerRings::publish_probe(place, found_.shelves)
                                    : error(Code::kInvalidUsage, "STRAIT_P2P_DISABLE asks for it");
  if (!probe.ok()) refusal_ = probe.status().message();
  const PeerWays mine = probe.ok() ? found_.own : PeerWays{0};
  STRAIT_ASSIGN(const auto opened,
                terms_.bootstrap.all_gather(std::vector{std::byte{mine}}, terms_.deadline));
  if (probe.ok()) try_all(place, opened);
  STRAIT_TRY(agree());
  tell_ways();
  if (!refusal_.empty())
    log_info(LogPart::kInit | LogPart::kP2p,
             "rank {}: some GPUs of its domain are reached through the host: {}", terms_.rank,
             refusal_);
  return std::move(found_);
}

Status PeerTrial::open_shelves() {
  const auto& secret = terms_.bootstrap.transport_secret();
  PeerShelves& shelves = found_.shelves;
  shelves.rank = terms_.rank;
  shelves.comm_key = terms_.bootstrap.comm_key();
  shelves.secret = {secret.begin(), secret.end()};
  STRAIT_ASSIGN(shelves.shelf, terms_.exchange.open_shelf(shelves.comm_key, terms_.rank, secret));
  STRAIT_ASSIGN(shelves.board,
                net::NoteBoard::open(terms_.door, shelves.comm_key, terms_.rank, secret));
  for (const Member& member : terms_.members) {
    shelves.exchanges.push_back(member.fd_exchange);
    shelves.boards.push_back(net::parse_addresses(member.place, kAddressesMax));
  }
  found_.ways.resize(terms_.members.size(), PeerWay::kNone);
  return Status();
}

void PeerTrial::try_all(const PeerPlace& place, const std::vector<std::vector<std::byte>>& opened) {
  for (size_t at = 0; at < found_.ways.size(); ++at) {
    const int peer = static_cast<int>(at);
    if (peer == terms_.rank || !terms_.topology.same_domain(peer, terms_.rank)) continue;
    const auto ways = opened[at].empty() ? PeerWays{0} : static_cast<PeerWays>(opened[at][0]);
    if (ways == 0) continue;
    const auto way = PeerRings::try_peer(
        place, found_.shelves, peer, ways,
        Deadline::after_ms(std::min<int64_t>(terms_.deadline.left_ms(), kTryMs)));
    if (way.ok())
      found_.ways[at] = *way;
    else
      refusal_ = way.status().message();
  }
}

void PeerTrial::tell_ways() const {
  constexpr std::pair<PeerWay, const char*> kNames[] = {
      {PeerWay::kFileDescriptor, "file descriptors"},
      {PeerWay::kFabricHandle, "fabric handles"},
      {PeerWay::kIpcHandle, "IPC handles"}};
  for (const auto& [way, name] : kNames)
    if (const auto count = std::ranges::count(found_.ways, way); count > 0)
      log_info(LogPart::kInit | LogPart::kP2p, "rank {} writes into the GPUs of {} ranks, by {}",
               terms_.rank, count, name);
}

Status PeerTrial::agree() {
  std::vector<std::byte> mine;
  for (const PeerWay way : found_.ways) mine.push_back(std::byte{way != PeerWay::kNone});
  STRAIT_ASSIGN(const auto tried, terms_.bootstrap.all_gather(mine, terms_.deadline));
  const auto own = static_cast<size_t>(terms_.rank);
  for (size_t peer = 0; peer < found_.ways.size(); ++peer)
    if (tried[peer].size() <= own || tried[peer][own] == std::byte{0})
      found_.ways[peer] = PeerWay::kNone;
  return Status();
}

}  // namespace strait
