// Collective: what a measuring program must say about its operation; everything else is the
// engine's. A program is one such value and a main() that hands it to run_program(). The functions
// are pure or call one NCCL function; any thread.
#pragma once

#include <nccl.h>

#include "perf/data/check.hpp"
#include "perf/data/reference.hpp"

namespace strait::perf {

// One rank's buffers for one size, in elements.
struct Layout {
  uint64_t count = 0;  // the call's argument
  uint64_t send_count = 0;
  uint64_t recv_count = 0;
  uint64_t send_offset = 0;  // where each lies in the one buffer of an in-place run
  uint64_t recv_offset = 0;
};

// The arguments of one call.
struct Call {
  const void* send;
  void* recv;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int root;
  ncclComm_t comm;
  cudaStream_t stream;
};

// Which result is meant: elements [first, first + count) of what `rank` receives.
struct Part {
  int rank = 0;
  int root = 0;
  uint64_t first = 0;
  uint64_t count = 0;
};

struct Collective {
  const char* program;   // "all_reduce_perf"
  bool reduces;          // has an operation: -o counts, results are held against the reference
  bool rooted;           // has a root: -r counts
  bool same_everywhere;  // every rank receives the same
  // `elements`: what the size on the command line holds.
  Layout (*layout)(uint64_t elements, int rank_count, int rank);
  ncclResult_t (*run)(const Call& call);
  void (*expected)(const Reference& reference, const Problem& problem, const Layout& layout,
                   const Part& part, std::byte* out);
  // busbw / algbw: what the narrowest link carries of each byte.
  double (*bus_factor)(int rank_count);
};

// The whole program; returns its exit code.
int run_program(const Collective& collective, int argc, char** argv);

}  // namespace strait::perf
