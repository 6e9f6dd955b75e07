// fault: another transport whose sending ends misbehave as a FaultSpec says: late, stalled, cut or
// with a bit flipped; the same seed gives the same faults on the same link. For tests of whoever
// uses links. Threads as in transport.hpp; a commit costs a lock.
#pragma once

#include <memory>

#include "transport/fault/fault_spec.hpp"
#include "transport/transport.hpp"

namespace strait {

std::unique_ptr<Transport> inject_faults(std::unique_ptr<Transport> inner, const FaultSpec& spec);

}  // namespace strait
