#include <algorithm>
#include <array>

#include "plan/planners.hpp"

namespace strait {
namespace {

// Direct algorithms open a link to every other rank (or rank of the domain): slots * slot_bytes of
// memory each, per lane. Beyond this many the memory and the number of waits outweigh the saved
// hops.
constexpr int kDirectRanksMax = 16;
// On GPUs memory is plenty and nobody wakes anybody: all of an NVLink domain.
constexpr int kDirectGpusMax = 72;
// Up to here the time of an all-reduce is the number of hops and wake-ups, not bytes: one hop wins.
constexpr uint64_t kOneShotBytesMax = 16 << 10;
// The same between domains, where every rank's copy crosses the narrow link.
constexpr uint64_t kOneShotBetweenBytesMax = 4 << 10;
// Rooted collectives and gathers up to here finish in one hop before a pipeline has filled.
constexpr uint64_t kDirectBytesMax = 64 << 10;
// Between domains a direct algorithm sends a block once per rank over there; two levels send it
// once.
constexpr uint64_t kDirectBetweenBytesMax = 4 << 10;
// A chain has filled after one piece per hop, rank or domain; with fewer pieces than this for each,
// trees are shorter.
constexpr uint64_t kChainBytesPerHop = 64 << 10;
// A ring waits 2(n-1) hops; below this much data per rank a tree's 2 log2(n) hops are sooner done.
constexpr uint64_t kRingBytesPerRank = 4 << 10;
// More lanes overlap one lane's waiting with another's work; beyond four they only cost links.
constexpr int kAutoLanesMax = 4;
// On GPUs a lane is a block, and one multiprocessor moves some 25 GB/s: inside a domain as many as
// fill NVLink, between domains as few as fill a NIC per GPU and leave the others to the program;
// and no more than so many links, each with a ring of 2 MiB.
constexpr int kGpuLanesInside = 16;
constexpr int kGpuLanesBetween = 8;
constexpr int kGpuLinksMax = 288;
// Whatever a program asks for: as many as STRAIT_LANES takes.
constexpr int kLanesMax = 32;
// Messages of more lanes should not fall below this: a wake-up costs about as much as moving it.
constexpr uint64_t kPieceBytesMin = 32 << 10;
constexpr uint64_t kWidestElement = 8;  // bytes, of any type

// Between domains an all-reduce's link idles until the first pieces have been added up inside and
// after the last: smaller pieces fill and drain it sooner (16 MiB over 2 Gbit/s: 64 KiB reach 95 %
// of the bound, 128 KiB 90 %, and 32 KiB no more than 64). Where data goes one way only, large
// pieces cost nothing there and fewer steps elsewhere.
constexpr uint64_t kBetweenPieceBytesMax = 64 << 10;

// What the choice depends on, and nothing else.
struct Case {
  const Request& request;
  const Topology& topology;
  int ranks;
  int domains;
  int largest_domain = 0;
  int smallest_domain = 0;
  uint64_t bytes;  // of the larger buffer: count * ranks for gathers and scatters
  bool on_gpus = false;

  int direct_max() const { return on_gpus ? kDirectGpusMax : kDirectRanksMax; }
  bool direct_fits() const { return ranks <= direct_max(); }
  bool levels_fit() const { return largest_domain <= direct_max() && domains <= kDirectRanksMax; }
};

Case make_case(const Request& request, const Topology& topology, bool on_gpus) {
  Case it{.request = request,
          .topology = topology,
          .ranks = topology.rank_count(),
          .domains = topology.domain_count(),
          .bytes = request.count * size_of(request.type),
          .on_gpus = on_gpus};
  std::vector<int> sizes(static_cast<size_t>(it.domains));
  for (const int domain : topology.domain_of) ++sizes[static_cast<size_t>(domain)];
  it.largest_domain = *std::max_element(sizes.begin(), sizes.end());
  it.smallest_domain = *std::min_element(sizes.begin(), sizes.end());
  switch (request.collective) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      it.bytes *= static_cast<uint64_t>(it.ranks);
      break;
    default:
      break;
  }
  return it;
}

struct Preference {
  Algorithm algorithm;
  std::string_view reason;
};

Preference ring_or_tree(const Case& it) {
  if (it.bytes >= kRingBytesPerRank * static_cast<uint64_t>(it.ranks))
    return {Algorithm::kRing, "too many ranks for direct links, enough data for a ring"};
  return {Algorithm::kTree, "too many ranks for direct links, little data"};
}

Preference prefer_for_all_reduce(const Case& it) {
  if (it.domains == 1) {
    if (!it.direct_fits()) return ring_or_tree(it);
    if (it.bytes <= kOneShotBytesMax) return {Algorithm::kOneShot, "small, one domain: one hop"};
    return {Algorithm::kTwoShot, "one domain: each byte is added once"};
  }
  if (it.bytes <= kOneShotBetweenBytesMax)
    return it.direct_fits() ? Preference{Algorithm::kOneShot, "small: one hop"}
                            : Preference{Algorithm::kTree, "small, many ranks: few hops"};
  if (it.levels_fit())
    return {Algorithm::kHierarchical, "several domains: each byte crosses between them once"};
  return ring_or_tree(it);
}

Preference prefer_for_gathers(const Case& it) {
  const bool tiny = it.domains == 1 || it.bytes <= kDirectBetweenBytesMax;
  if (tiny && it.direct_fits()) return {Algorithm::kDirect, "few ranks: one hop"};
  if (it.domains > 1 && it.levels_fit())
    return {Algorithm::kHierarchical, "several domains: a block enters each once"};
  return {Algorithm::kRing, "too many ranks for direct links"};
}

Preference prefer_for_rooted(const Case& it) {
  if (it.domains > 1 && it.bytes > kDirectBetweenBytesMax && it.levels_fit()) {
    const bool fills = it.bytes >= kChainBytesPerHop * static_cast<uint64_t>(it.domains);
    return it.domains == 2 || fills
               ? Preference{Algorithm::kHierarchical, "several domains: each rail takes a share"}
               : Preference{Algorithm::kTree, "too little data to fill a chain of domains"};
  }
  if (it.bytes <= kDirectBytesMax && it.direct_fits())
    return {Algorithm::kDirect, "small, few ranks: one hop"};
  if (it.bytes >= kChainBytesPerHop * static_cast<uint64_t>(it.ranks))
    return {Algorithm::kRing, "large: a chain keeps every link busy"};
  return {Algorithm::kTree, "too little data to fill a chain"};
}

Preference prefer(const Case& it) {
  switch (it.request.collective) {
    case Collective::kAllReduce:
      return prefer_for_all_reduce(it);
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return prefer_for_gathers(it);
    case Collective::kReduce:
    case Collective::kBroadcast:
      return prefer_for_rooted(it);
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      return {Algorithm::kDirect, "every byte has its own destination"};
    case Collective::kSend:
    case Collective::kReceive:
      break;
  }
  return {Algorithm::kPointToPoint, "one peer"};
}

// Into how many blocks the planner cuts the count.
int block_count(const Case& it, Algorithm algorithm) {
  const bool levels = algorithm == Algorithm::kHierarchical;
  switch (it.request.collective) {
    case Collective::kAllReduce:
      if (algorithm == Algorithm::kRing || algorithm == Algorithm::kTwoShot) return it.ranks;
      return levels ? it.smallest_domain * it.domains : 1;
    case Collective::kBroadcast:
    case Collective::kReduce:
      return levels ? it.smallest_domain : 1;
    default:
      return 1;
  }
}

int auto_lanes_max(const Case& it, Algorithm algorithm) {
  if (!it.on_gpus) return kAutoLanesMax;
  const int most = it.domains > 1 ? kGpuLanesBetween : kGpuLanesInside;
  if (algorithm == Algorithm::kRing || algorithm == Algorithm::kTree) return most;
  const int peers = std::max(1, (it.domains > 1 ? it.largest_domain : it.ranks) - 1);
  return std::clamp(kGpuLinksMax / peers, std::min(kAutoLanesMax, most), most);
}

// Lanes wait for each other across ranks: one that has no room to run could be waited for for ever.
int64_t lanes_possible(const Config& config) {
  return config.gpu_blocks > 0 ? std::min(config.gpu_blocks, kLanesMax) : kLanesMax;
}

// Bounds of the call come before those of the communicator; the setting LANES is exact, where the
// GPUs have room for it.
int choose_lanes(const Case& it, Algorithm algorithm, const Config& config) {
  if (algorithm == Algorithm::kPointToPoint) return 1;
  const int64_t possible = lanes_possible(config);
  if (config.lanes > 0) return static_cast<int>(std::min(config.lanes, possible));
  const Limits& limits = it.request.limits;
  const int64_t low = limits.lanes_min > 0 ? limits.lanes_min : config.lanes_min;
  const int64_t high = limits.lanes_max > 0 ? limits.lanes_max : config.lanes_max;
  const uint64_t block_bytes = it.request.count * size_of(it.request.type) /
                               static_cast<uint64_t>(block_count(it, algorithm));
  const auto lanes = static_cast<int64_t>(std::clamp<uint64_t>(
      block_bytes / kPieceBytesMin, 1, static_cast<uint64_t>(auto_lanes_max(it, algorithm))));
  const int64_t most = high > 0 ? std::min(high, possible) : possible;
  return static_cast<int>(std::min(std::max(lanes, low), most));
}

// The largest piece that fits, made smaller so that all rounds move about the same.
uint64_t choose_piece(const Case& it, const Choice& choice, const Config& config) {
  uint64_t bytes = static_cast<uint64_t>(config.slot_bytes);
  if (config.chunk_bytes > 0)
    bytes = std::min(bytes, static_cast<uint64_t>(config.chunk_bytes));
  else if (choice.algorithm == Algorithm::kHierarchical &&
           it.request.collective == Collective::kAllReduce)
    bytes = std::min(bytes, kBetweenPieceBytesMax);
  // Sender and receiver may count in different types: the same bytes must fill a slot for both.
  if (choice.algorithm == Algorithm::kPointToPoint)
    return std::max(bytes / kWidestElement, uint64_t{1}) * kWidestElement /
           size_of(it.request.type);
  const uint64_t most = std::max<uint64_t>(1, bytes / size_of(it.request.type));
  const uint64_t share = largest_part(it.request.count, choice.lanes);
  const uint64_t block = largest_part(share, block_count(it, choice.algorithm));
  if (block == 0) return most;
  const uint64_t rounds = (block + most - 1) / most;
  const uint64_t even = (block + rounds - 1) / rounds;
  return std::min(most, (even + kSplitUnit - 1) / kSplitUnit * kSplitUnit);
}

// What the collective has of the set, best first.
std::optional<Algorithm> best_of(const Case& it, AlgorithmSet allowed) {
  const bool small = it.bytes <= kOneShotBytesMax;
  const std::array<Algorithm, 6> small_first = {Algorithm::kOneShot, Algorithm::kDirect,
                                                Algorithm::kTree,    Algorithm::kTwoShot,
                                                Algorithm::kRing,    Algorithm::kHierarchical};
  const std::array<Algorithm, 6> large_first = {
      it.domains > 1 ? Algorithm::kHierarchical : Algorithm::kTwoShot,
      it.domains > 1 ? Algorithm::kTwoShot : Algorithm::kHierarchical,
      Algorithm::kRing,
      Algorithm::kDirect,
      Algorithm::kTree,
      Algorithm::kOneShot};
  for (const Algorithm algorithm : small ? small_first : large_first)
    if (allowed.holds(algorithm) && find_planner(it.request.collective, algorithm) != nullptr)
      return algorithm;
  return std::nullopt;
}

// Makes the choice one of the set, if the collective has one; says so in the reason.
bool keep_to(const Case& it, AlgorithmSet allowed, std::string_view who, Choice& choice) {
  if (allowed.all() || it.ranks == 1) return true;
  const auto best = allowed.holds(choice.algorithm) ? choice.algorithm : best_of(it, allowed);
  if (!best) return false;
  choice.algorithm = *best;
  choice.reason = fmt::format("{} asks for it", who);
  return true;
}

// Last of all: what the setting REPRODUCIBLE promises holds whatever else was asked for.
void keep_order(const Case& it, AlgorithmSet allowed, const Config& config, Choice& choice) {
  choice.reproducible = reproducible_of(it.request, config);
  if (choice.reproducible == Reproducible::kOnLayout || it.ranks == 1) return;
  const AlgorithmSet steady =
      steady_algorithms(it.request.collective, it.topology, choice.reproducible, allowed);
  if (steady.holds(choice.algorithm)) return;
  if (const auto best = best_of(it, steady)) choice.algorithm = *best;
  choice.reason = fmt::format("STRAIT_REPRODUCIBLE={}: one order of addition", config.reproducible);
}

Choice sized(const Case& it, Choice choice, const Config& config) {
  choice.lanes = choose_lanes(it, choice.algorithm, config);
  choice.piece = choose_piece(it, choice, config);
  return choice;
}

}  // namespace

Result<Choice> choose(const Request& request, const Topology& topology, const Config& config) {
  if (topology.rank_count() == 0)
    return error(Code::kInvalidArgument, "{}: a topology without ranks has no plan",
                 name_of(request.collective));
  const Case it = make_case(request, topology, config.device == "gpu");
  const Preference preference = prefer(it);
  Choice choice;
  choice.algorithm = preference.algorithm;
  choice.reason = preference.reason;
  if (it.ranks == 1) choice.reason = "one rank: a copy";
  if (is_point_to_point(request.collective)) return sized(it, std::move(choice), config);
  const auto setting = algorithms_for(name_of(request.collective), config.algorithm);
  if (!setting.ok()) return setting.status().at("STRAIT_ALGO");
  const bool kept = keep_to(it, *setting, "STRAIT_ALGO", choice);
  if (!kept)
    choice.reason = fmt::format("{} has no {}; {}", name_of(request.collective), config.algorithm,
                                choice.reason);
  const Limits& limits = request.limits;
  bool may = !(setting->all() || !kept) || keep_to(it, limits.algorithms, "the call", choice);
  keep_order(it, *setting, config, choice);
  if (choice.reproducible != Reproducible::kOnLayout && it.ranks > 1)
    may = limits.algorithms.holds(choice.algorithm);
  if (!may && limits.insists)
    return error(Code::kInvalidArgument,
                 "{} has none of the algorithms that the call's algSelection allows; add one of "
                 "its own or set forceAlgSelection to 0",
                 name_of(request.collective));
  return sized(it, std::move(choice), config);
}

}  // namespace strait
