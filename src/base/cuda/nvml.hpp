// NVML: what the driver's management library knows of a GPU's NVLink fabric: which domain and
// clique it is in, and which chassis holds it. libnvidia-ml is opened on the first call, never at
// load time; STRAIT_NVML_LIBRARY names another file. Any thread; the first call costs milliseconds,
// a question some ten microseconds.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace strait::cuda {

enum class FabricState : unsigned char {
  kNotSupported = 0,
  kNotStarted = 1,
  kInProgress = 2,
  kCompleted = 3,
};

struct FabricFacts {
  FabricState state = FabricState::kNotSupported;
  std::array<unsigned char, 16> cluster_uuid{};
  uint32_t clique = 0;
  std::string chassis_serial;  // empty: unknown

  // GPUs with equal keys reach each other's memory over NVLink; empty: this one is in no domain.
  // The clique alone would not do: it is not unique, and some systems give all the same.
  std::string domain_key() const;
};

// `pci_bus_id` as in DeviceFacts. Without NVML, or one too old for the question, a GPU is in no
// fabric and that is no failure.
Result<FabricFacts> fabric_facts(const std::string& pci_bus_id);

}  // namespace strait::cuda
