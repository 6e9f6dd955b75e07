// trace: another transport whose links write down every commit, arrival and release in a TraceSink,
// and change nothing. Threads as in transport.hpp; costs a clock reading for each.
#pragma once

#include <memory>

#include "transport/trace/trace_sink.hpp"
#include "transport/transport.hpp"

namespace strait {

std::unique_ptr<Transport> trace(std::unique_ptr<Transport> inner, std::shared_ptr<TraceSink> sink);

}  // namespace strait
