#include "perf/launch/environment.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace strait::perf {
namespace {

constexpr int kPortMax = 65535;
constexpr int kSlurmPortBase = 20000;
constexpr int kSlurmPortCount = 20000;

struct Variables {
  LaunchKind kind;
  const char* rank;
  const char* size;
};

// In this order: mpirun's environment may well carry RANK, and Slurm's job lies around everything.
constexpr std::array<Variables, 4> kKinds = {{
    {LaunchKind::kOpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {LaunchKind::kMpich, "PMI_RANK", "PMI_SIZE"},
    {LaunchKind::kTorchrun, "RANK", "WORLD_SIZE"},
    {LaunchKind::kSlurm, "SLURM_PROCID", "SLURM_NTASKS"},
}};

Result<int> parse_int(const char* name, const char* text, int low, int high) {
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < low || value > high)
    return error(Code::kInvalidArgument, "{}=\"{}\" is not a number from {} to {}", name, text, low,
                 high);
  return value;
}

Result<int> port_of(const LaunchEnvironment& found, const EnvironmentLookup& lookup) {
  if (const char* text = lookup("MASTER_PORT")) {
    STRAIT_ASSIGN(const int port, parse_int("MASTER_PORT", text, 1, kPortMax - 1));
    // Where torchrun's agent keeps its own store on that port, the next one is ours.
    const char* agent = lookup("TORCHELASTIC_USE_AGENT_STORE");
    return agent != nullptr && std::string_view(agent) == "True" ? port + 1 : port;
  }
  if (found.kind != LaunchKind::kSlurm)
    return error(Code::kInvalidArgument,
                 "RANK and WORLD_SIZE are set but MASTER_PORT is not; set it to a port free on "
                 "process 0's host");
  const char* job = lookup("SLURM_JOB_ID");
  if (job == nullptr)
    return error(Code::kInvalidArgument, "neither MASTER_PORT nor SLURM_JOB_ID is set");
  STRAIT_ASSIGN(const int number, parse_int("SLURM_JOB_ID", job, 0, INT32_MAX));
  return kSlurmPortBase + number % kSlurmPortCount;
}

// Where process 0 listens, for launchers that leave the meeting to us.
Status find_meeting_point(LaunchEnvironment* found, const EnvironmentLookup& lookup) {
  const char* address = lookup("MASTER_ADDR");
  const char* nodes = lookup("SLURM_STEP_NODELIST");
  if (nodes == nullptr) nodes = lookup("SLURM_JOB_NODELIST");
  if (address != nullptr)
    found->address = address;
  else if (found->kind == LaunchKind::kSlurm && nodes != nullptr)
    found->address = first_host(nodes);
  else
    return error(Code::kInvalidArgument,
                 "{} is set but MASTER_ADDR is not; set it to the host of process 0",
                 found->kind == LaunchKind::kSlurm ? "SLURM_PROCID" : "RANK");
  STRAIT_ASSIGN(found->port, port_of(*found, lookup));
  return {};
}

}  // namespace

const char* name_of(LaunchKind kind) {
  switch (kind) {
    case LaunchKind::kSingle:
      return "single process";
    case LaunchKind::kTorchrun:
      return "torchrun environment";
    case LaunchKind::kOpenMpi:
      return "Open MPI";
    case LaunchKind::kMpich:
      return "MPICH";
    case LaunchKind::kSlurm:
      return "Slurm";
  }
  return "unknown";
}

std::string first_host(const std::string& node_list) {
  const size_t end = node_list.find_first_of(",[");
  if (end == std::string::npos || node_list[end] == ',') return node_list.substr(0, end);
  const size_t stop = node_list.find_first_of(",-]", end + 1);
  if (stop == std::string::npos) return node_list.substr(0, end);
  return node_list.substr(0, end) + node_list.substr(end + 1, stop - end - 1);
}

Result<LaunchEnvironment> detect_launch(const EnvironmentLookup& lookup) {
  for (const Variables& variables : kKinds) {
    const char* rank = lookup(variables.rank);
    const char* size = lookup(variables.size);
    // srun tells the size of its own step; the batch script around it has only the job's.
    if (variables.kind == LaunchKind::kSlurm)
      if (const char* step = lookup("SLURM_STEP_NUM_TASKS")) size = step;
    if (rank == nullptr && size == nullptr) continue;
    if (variables.kind == LaunchKind::kSlurm && (rank == nullptr || size == nullptr)) continue;
    if (rank == nullptr || size == nullptr)
      return error(Code::kInvalidArgument, "{} is set but {} is not; set both or neither",
                   rank == nullptr ? variables.size : variables.rank,
                   rank == nullptr ? variables.rank : variables.size);
    LaunchEnvironment found;
    found.kind = variables.kind;
    STRAIT_ASSIGN(found.size, parse_int(variables.size, size, 1, 1 << 20));
    STRAIT_ASSIGN(found.rank, parse_int(variables.rank, rank, 0, found.size - 1));
    if (const char* text = lookup("STRAIT_INIT_TIMEOUT_MS")) {
      STRAIT_ASSIGN(found.meet_ms, parse_int("STRAIT_INIT_TIMEOUT_MS", text, 1, INT32_MAX));
    }
    const bool meets_by_tcp =
        found.kind == LaunchKind::kTorchrun || found.kind == LaunchKind::kSlurm;
    if (meets_by_tcp && found.size > 1) STRAIT_TRY(find_meeting_point(&found, lookup));
    return found;
  }
  return LaunchEnvironment{};
}

}  // namespace strait::perf
