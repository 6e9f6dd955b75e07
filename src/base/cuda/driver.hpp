// Driver: the CUDA driver of this machine, as a table of its entry points. libcuda is opened on the
// first call of driver() or driver_state(), never at load time, and stays open until the process
// ends; STRAIT_CUDA_LIBRARY names another file. Any thread. The first call costs milliseconds
// (cuInit), later ones a load.
#pragma once

#include "base/cuda/entry.hpp"
#include "base/cuda/library.hpp"

namespace strait::cuda {

struct Driver {
#define STRAIT_CUDA_CALL(name, version, parameters) Entry<int parameters> name{#name, version};
#include "base/cuda/calls.def"
#undef STRAIT_CUDA_CALL

  int version = 0;  // 12040 is 12.4
  int device_count = 0;

  // The driver in an opened library, initialised; driver() does it once for all.
  static Result<Driver> open(const Library& library);
};

enum class DriverState {
  kReady,
  kAbsent,    // no driver, or no device: behave as on a host
  kUnusable,  // there is one, but too old or broken: who needs a GPU must be told
};

DriverState driver_state();

// The driver if somebody has asked for it and it is ready; else null. Costs a load.
const Driver* opened_driver();

// A context of the driver is current in this thread, whether we can use that driver or not.
bool caller_has_context();

// The driver, or the sentence that says why there is none and what to do.
Result<const Driver*> driver();

}  // namespace strait::cuda
