// Collective: what a measuring program must say about its operation; everything else is the
// engine's. A program is one such value and a main() that hands it to run_program(). The functions
// are pure or make NCCL calls; any thread.
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

#include "base/status.hpp"
#include "perf/options.hpp"

namespace strait::perf {

// One rank's view of one test.
struct Shape {
  uint64_t elements = 0;  // what the size on the command line holds
  size_t element_bytes = 1;
  int rank_count = 1;
  int rank = 0;
  int root = 0;
};

// Buffers, in elements. `total` is what the size column tells: the largest buffer of any rank.
struct Layout {
  uint64_t count = 0;  // the call's argument, and the count column
  uint64_t total = 0;
  uint64_t send_count = 0;
  uint64_t recv_count = 0;
  uint64_t send_offset = 0;  // where each lies in the one buffer of an in-place run
  uint64_t recv_offset = 0;
};

// Part of what a rank receives, and where it comes from.
struct Piece {
  static constexpr int kEveryRank = -1;  // the reduction of all inputs

  int from = kEveryRank;
  uint64_t source_first = 0;  // in that input
  uint64_t result_first = 0;  // in what the rank receives
  uint64_t count = 0;
};

// The arguments of one call.
struct Call {
  const std::byte* send;
  std::byte* recv;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  Shape shape;
  int step;  // of steps(); 0 where there is one
  ncclComm_t comm;
  cudaStream_t stream;
};

struct Collective {
  const char* program;          // "all_reduce_perf"
  bool reduces = false;         // has an operation: -o counts, results are held against a sum
  bool adds_in_order = false;   // by rank in each rack, then by rack; otherwise in any order
  bool rooted = false;          // has a root: -r counts
  bool same_everywhere = true;  // every rank receives the same
  bool in_place = true;         // may run in place; otherwise those columns repeat out of place

  Layout (*layout)(const Shape&);
  std::vector<Piece> (*result)(const Shape&);  // what shape.rank receives, ascending, no overlap
  ncclResult_t (*run)(const Call&);
  double (*bus_factor)(int rank_count);  // busbw / algbw: what the narrowest link carries of a byte

  // The rest is for a few only; null where it does not apply.
  uint64_t (*moved)(const Shape&) = nullptr;  // elements that algbw counts, if not the total
  int (*steps)(int rank_count) = nullptr;     // calls that follow each other and share no group
  bool (*runs_on)(int rank_count) = nullptr;  // false: nothing is measured
  Status (*prepare)(const Options&, int rank_count) = nullptr;  // refuses before any waiting
  std::vector<std::string> (*footnotes)(const Shape&, double time_us) = nullptr;  // of one row
};

// The whole program; returns its exit code.
int run_program(const Collective& collective, int argc, char** argv);

}  // namespace strait::perf
