// Whether a program is capturing a stream into a graph, and how to learn that the graph is gone.
// Work queued into a captured stream becomes part of the graph by itself; memory and images that
// it uses must live as long as the graph does. Any thread; microseconds.
#pragma once

#include "base/cuda/driver.hpp"

namespace strait::cuda {

struct Capture {
  bool active = false;
  uint64_t id = 0;              // of this capture, never used twice in a process
  GraphHandle graph = nullptr;  // in the making
};

// A capture that was broken by an earlier call is an error.
Result<Capture> capture_of(const Driver& driver, StreamHandle stream);

// Calls function(argument) once, when the graph and all that was instantiated from it are gone: on
// a thread of the driver, where CUDA may not be called. Not at all if this fails.
Status call_after_graph(const Driver& driver, GraphHandle graph, HostFunction function,
                        void* argument);

}  // namespace strait::cuda
