#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"
#include "plan/planners.hpp"
#include "tools/strait/call.hpp"
#include "tools/strait/topology_text.hpp"

namespace strait::tool {
namespace {

constexpr int kRanksMax = 1 << 24;
constexpr uint64_t kBytesMax = uint64_t{1} << 56;  // of one buffer: no sum of sizes overflows

template <class Enumeration>
std::string names(int count) {
  std::vector<std::string_view> all;
  for (int i = 0; i < count; ++i) all.push_back(name_of(static_cast<Enumeration>(i)));
  return fmt::format("{}", fmt::join(all, ", "));
}

Result<Request> read_request(const CallFlags& flags) {
  const auto collective = parse_collective(flags.collective);
  if (!collective)
    return error(Code::kInvalidArgument, "\"{}\" is no collective; give one of {}",
                 flags.collective, names<Collective>(kCollectiveCount));
  const auto type = parse_data_type(flags.type);
  if (!type)
    return error(Code::kInvalidArgument, "--type \"{}\" is no type; give one of {}", flags.type,
                 names<DataType>(kDataTypeCount));
  const auto reduce = parse_reduce_kind(flags.reduce);
  if (!reduce)
    return error(Code::kInvalidArgument, "--op \"{}\" is no operation; give one of {}",
                 flags.reduce, names<ReduceKind>(kReduceKindCount));
  const auto count = parse_size(flags.count);
  if (!count.ok()) return error(Code::kInvalidArgument, "--count: {}", count.status().message());
  return Request{.collective = *collective,
                 .type = *type,
                 .reduce = *reduce,
                 .count = static_cast<uint64_t>(*count)};
}

Result<Topology> read_ranks(const CallFlags& flags) {
  if (flags.ranks.has_value() == !flags.topology.empty())
    return error(Code::kInvalidArgument, "give either --ranks N (one domain) or --topo TEXT");
  if (flags.ranks) return Topology::flat(*flags.ranks);
  return read_topology(flags.topology);
}

Status read_places(const CallFlags& flags, PlannedCall& call) {
  const int ranks = call.topology.rank_count();
  if (call.one_sided() && !flags.root)
    return error(Code::kInvalidArgument, "{} has a peer; name it with --root",
                 name_of(call.request.collective));
  call.request.root = flags.root.value_or(0);
  call.rank = flags.rank.value_or(0);
  for (const auto& [flag, rank] : {std::pair{"--root", call.request.root}, {"--rank", call.rank}})
    if (rank >= ranks)
      return error(Code::kInvalidArgument, "{} {} is not one of {} ranks; give 0 to {}", flag, rank,
                   ranks, ranks - 1);
  if (call.one_sided() && call.request.root == call.rank)
    return error(Code::kInvalidArgument, "rank {} is its own peer; let --root and --rank differ",
                 call.rank);
  const uint64_t bytes_each = kBytesMax / static_cast<uint64_t>(ranks);
  if (call.request.count > bytes_each / size_of(call.request.type))
    return error(Code::kInvalidArgument, "--count {} is more than {} ranks can hold; give less",
                 flags.count, ranks);
  return {};
}

// What the environment says, with the flags in its place.
Result<Config> read_config(const CallFlags& flags) {
  STRAIT_ASSIGN(Config config, Config::from_environment());
  if (!flags.lanes.empty()) STRAIT_TRY(config.set("LANES", flags.lanes).at("--lanes"));
  if (!flags.chunk.empty()) STRAIT_TRY(config.set("CHUNK_BYTES", flags.chunk).at("--chunk"));
  if (!flags.chunk.empty() && config.chunk_bytes > config.slot_bytes)
    return error(Code::kInvalidArgument,
                 "--chunk {} does not fit into a slot of {}; set STRAIT_SLOT_BYTES={} as well",
                 flags.chunk, format_bytes(static_cast<uint64_t>(config.slot_bytes)), flags.chunk);
  return config;
}

// The library falls back where a collective lacks the algorithm; who names one here wants that one.
Status check_algorithm(const CallFlags& flags, Collective collective) {
  std::vector<std::string_view> has;
  for (const PlannerRow& row : planner_rows()) {
    if (row.collective != collective) continue;
    has.push_back(name_of(row.algorithm));
    if (has.back() == flags.algorithm) return {};
  }
  return error(Code::kInvalidArgument, "{} has no algorithm \"{}\"; give auto, {}",
               name_of(collective), flags.algorithm, fmt::join(has, ", "));
}

}  // namespace

void CallFlags::add_to(CLI::App& command) {
  command.add_option("COLLECTIVE", collective, names<Collective>(kCollectiveCount))->required();
  command.add_option("--ranks", ranks, "that many ranks in one domain")
      ->check(CLI::Range(1, kRanksMax));
  command.add_option("--topo", topology, "ranks in domains, as \"2 racks x 4 ranks\" or \"7+8\"");
  command.add_option("--count", count, "elements, as NCCL counts them (4096, 64K, 1M)")->required();
  command.add_option("--type", type, names<DataType>(kDataTypeCount))->capture_default_str();
  command.add_option("--op", reduce, names<ReduceKind>(kReduceKindCount))->capture_default_str();
  command.add_option("--algo", algorithm, "in place of what the library would choose");
  command.add_option("--root", root, "root of a rooted collective, peer of send and receive")
      ->check(CLI::Range(0, kRanksMax - 1));
  command.add_option("--lanes", lanes, "lanes beside each other; 0 chooses by size");
  command.add_option("--chunk", chunk, "bytes a step moves at once; 0 chooses by size");
}

Result<PlannedCall> make_call(const CallFlags& flags) {
  PlannedCall call;
  STRAIT_ASSIGN(call.request, read_request(flags));
  STRAIT_ASSIGN(call.topology, read_ranks(flags));
  STRAIT_TRY(read_places(flags, call));
  STRAIT_ASSIGN(call.config, read_config(flags));
  const bool named = !flags.algorithm.empty() && flags.algorithm != "auto";
  if (named) STRAIT_TRY(check_algorithm(flags, call.request.collective));
  if (!flags.algorithm.empty()) call.config.algorithm = flags.algorithm;
  STRAIT_ASSIGN(call.choice, choose(call.request, call.topology, call.config));
  if (named) call.choice.reason = "--algo asks for it";
  return call;
}

}  // namespace strait::tool
