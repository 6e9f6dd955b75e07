// How long calls would take, from the simulator and what the transports say of their speed. Pure
// beside reading the communicator's layout; any thread; costs what the simulated plans cost, a few
// milliseconds at most.
#pragma once

#include <vector>

#include "comm/communicator.hpp"

namespace strait {

// Microseconds for the calls of one group on one communicator: collectives one after another, sends
// and receives beside them.
Result<double> estimate_us(const Communicator& comm, const std::vector<Operation>& operations);

}  // namespace strait
