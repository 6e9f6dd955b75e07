#include "comm/estimate.hpp"

#include <algorithm>
#include <map>

#include "base/cuda/device.hpp"
#include "comm/gpu_rates.hpp"
#include "plan/choice.hpp"
#include "plan/simulator.hpp"

namespace strait {
namespace {

// Larger calls are simulated at this size and at half of it, and continued in a straight line.
constexpr uint64_t kSimulatedBytesMax = 8 << 20;
// Of one core, as measured on a server of 2024: copying or adding, and coding.
constexpr double kMemoryGigabytes = 8;
constexpr double kCodecGigabytes = 3;
constexpr double kStepUs = 0.3;
// What typical values leave of their bytes.
constexpr double kCodedShare = 0.7;

// The slowest route inside domains and between them counts.
Speeds speeds_of(const Communicator& comm) {
  const Communicator::Parts& parts = comm.parts();
  Speeds speeds{.memory_rate = kMemoryGigabytes, .codec_rate = kCodecGigabytes, .step_us = kStepUs};
  if (parts.config.compress != "off") speeds.coded_share = kCodedShare;
  speeds.uplink_rate = static_cast<double>(parts.config.link_rate) / 1e9;
  for (int peer = 0; peer < comm.rank_count(); ++peer) {
    if (peer == comm.rank()) continue;
    const LinkSpeed speed = parts.routes[static_cast<size_t>(peer)].transport->speed();
    const bool inside = comm.topology().same_domain(peer, comm.rank());
    double& latency = inside ? speeds.inside_latency_us : speeds.between_latency_us;
    double& rate = inside ? speeds.inside_rate : speeds.nic_rate;
    latency = std::max(latency, speed.latency_us);
    rate = rate == 0 ? speed.gigabytes_per_second : std::min(rate, speed.gigabytes_per_second);
  }
  return speeds;
}

// As speeds_of() and where the peers are GPUs: kernels instead of a core, NVLink or PCIe instead of
// the host's memory wherever GPUs reach each other.
Result<Speeds> speeds_of_gpus(const Communicator& comm) {
  const GpuEngine& engine = comm.gpu()->engine();
  STRAIT_ASSIGN(const auto facts, cuda::device_facts(engine.driver(), engine.device()));
  STRAIT_ASSIGN(const bool on_nvlink, is_on_nvlink(engine, comm.rank_count()));
  const GpuRates rates = rates_of(facts.compute_major, facts.compute_minor);
  Speeds speeds = speeds_of(comm);
  bool all_reached = engine.peers() != nullptr;
  for (int peer = 0; peer < comm.rank_count(); ++peer)
    if (peer != comm.rank() && comm.topology().same_domain(peer, comm.rank()))
      all_reached = all_reached && engine.peers()->reaches(peer);
  if (all_reached) {
    const bool fast = on_nvlink && rates.nvlink > 0;
    speeds.inside_rate = fast ? rates.nvlink : rates.pcie;
    speeds.inside_latency_us = fast ? kNvlinkUs : kPcieUs;
  } else {
    speeds.inside_rate = std::min(speeds.inside_rate, rates.pcie);
    speeds.inside_latency_us += kHandOverUs;
  }
  speeds.between_latency_us += kHandOverUs;
  speeds.memory_rate = rates.memory;
  speeds.step_us = kGpuStepUs;
  return speeds;
}

// Lanes are blocks, each on a multiprocessor of its own. A step reads two values and writes one.
Speeds of_lanes(Speeds speeds, size_t lanes) {
  const auto blocks = static_cast<double>(std::max<size_t>(lanes, 1));
  speeds.memory_rate = std::min(speeds.memory_rate, blocks * kBlockMemoryGigabytes) / 3;
  speeds.codec_rate = blocks * kBlockCodecGigabytes;
  return speeds;
}

Result<double> simulated_us(const Communicator& comm, const Request& request,
                            const Speeds& speeds) {
  const Topology& topology = comm.topology();
  STRAIT_ASSIGN(const Choice choice, choose(request, topology, comm.parts().config));
  std::vector<Call> calls;
  for (int rank = 0; rank < comm.rank_count(); ++rank) {
    STRAIT_ASSIGN(Plan plan, make_plan(request, topology, choice, rank));
    calls.push_back({request, std::move(plan)});
  }
  const bool gpu = comm.gpu() != nullptr;
  STRAIT_ASSIGN(
      const Simulation simulation,
      simulate(calls, topology, gpu ? of_lanes(speeds, calls[0].plan.lanes.size()) : speeds,
               static_cast<int>(comm.parts().config.slots)));
  return simulation.total_us + (gpu ? kKernelUs : 0);
}

Result<double> collective_us(const Communicator& comm, Request request, const Speeds& speeds) {
  const uint64_t most = std::max<uint64_t>(kSimulatedBytesMax / size_of(request.type), 2);
  const uint64_t count = request.count;
  request.count = std::min(count, most);
  STRAIT_ASSIGN(const double whole_us, simulated_us(comm, request, speeds));
  if (count <= most) return whole_us;
  request.count = most / 2;
  STRAIT_ASSIGN(const double half_us, simulated_us(comm, request, speeds));
  return whole_us + (whole_us - half_us) * static_cast<double>(count - most) /
                        static_cast<double>(most - most / 2);
}

double message_us(const Communicator& comm, const Request& request, const Speeds& speeds) {
  const bool inside = comm.topology().same_domain(request.root, comm.rank());
  const double bytes = static_cast<double>(request.count * size_of(request.type)) *
                       (inside ? 1 : speeds.coded_share);
  double rate = inside ? speeds.inside_rate : speeds.nic_rate;
  if (!inside && speeds.uplink_rate > 0) rate = std::min(rate, speeds.uplink_rate);
  if (rate <= 0) rate = speeds.memory_rate;
  return (inside ? speeds.inside_latency_us : speeds.between_latency_us) + bytes / rate * 1e-3;
}

}  // namespace

Result<double> estimate_us(const Communicator& comm, const std::vector<Operation>& operations) {
  Speeds speeds = speeds_of(comm);
  if (comm.gpu() != nullptr) {
    STRAIT_ASSIGN(speeds, speeds_of_gpus(comm));
  }
  double collectives_us = 0;
  std::map<std::pair<Collective, int>, double> by_peer;
  for (const Operation& operation : operations) {
    const Request& request = operation.request;
    if (request.count == 0) continue;
    if (is_point_to_point(request.collective)) {
      by_peer[{request.collective, request.root}] += message_us(comm, request, speeds);
      continue;
    }
    STRAIT_ASSIGN(const double us, collective_us(comm, request, speeds));
    collectives_us += us;
  }
  double slowest_us = collectives_us;
  for (const auto& [key, us] : by_peer) slowest_us = std::max(slowest_us, us);
  return slowest_us;
}

}  // namespace strait
