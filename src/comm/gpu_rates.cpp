#include "comm/gpu_rates.hpp"

#include "base/cuda/device.hpp"

namespace strait {
namespace {

struct Generation {
  int major;
  bool largest;  // the parts for servers, whose minor number is 0
  GpuRates rates;
};

// V100, A100 and A40, H100 and L40S (8.9 counts as Ampere's), B200, RTX PRO 6000.
constexpr Generation kGenerations[] = {
    {7, true, {.memory = 900, .nvlink = 150, .pcie = 12}},
    {8, false, {.memory = 860, .nvlink = 0, .pcie = 25}},
    {8, true, {.memory = 2'000, .nvlink = 300, .pcie = 25}},
    {9, true, {.memory = 3'350, .nvlink = 450, .pcie = 50}},
    {10, true, {.memory = 8'000, .nvlink = 900, .pcie = 50}},
    {12, false, {.memory = 1'790, .nvlink = 0, .pcie = 50}},
};

}  // namespace

GpuRates rates_of(int compute_major, int compute_minor) {
  GpuRates found = kGenerations[0].rates;
  for (const Generation& known : kGenerations) {
    const bool fits = known.major == 8 ? known.largest == (compute_minor == 0) : true;
    if (known.major < compute_major || (known.major == compute_major && fits)) found = known.rates;
  }
  return found;
}

Result<bool> is_on_nvlink(const GpuEngine& engine, int rank_count) {
  const PeerRings* peers = engine.peers();
  for (int rank = 0; peers != nullptr && rank < rank_count; ++rank)
    if (peers->way_to(rank) == PeerWay::kFabricHandle) return true;
  const cuda::Driver& driver = engine.driver();
  for (int other = 0; other < driver.device_count; ++other) {
    if (other == engine.device()) continue;
    STRAIT_ASSIGN(const cuda::PeerFacts facts, cuda::peer_facts(driver, engine.device(), other));
    if (facts.native_atomics) return true;
  }
  if (driver.device_count > 1) return false;
  STRAIT_ASSIGN(const cuda::DeviceFacts facts, cuda::device_facts(driver, engine.device()));
  return rates_of(facts.compute_major, facts.compute_minor).nvlink > 0;
}

}  // namespace strait
