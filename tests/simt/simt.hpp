// The SIMT layer: runs a kernel that g++ compiled as a GPU would, on the CPU. run() makes one fibre
// for each thread of the grid; a block lives on one OS thread, and blocks run beside each other, so
// that kernels of several ranks may wait for each other. Any number of launches at once, each from
// its own thread; run() returns when all blocks have ended, failed or run out of time. Costs some
// 50 us a launch and some 10 ns for each fibre switch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status.hpp"
#include "simt/cuda_vectors.hpp"
#include "simt/kernel.hpp"

namespace strait::simt {

using Dim3 = dim3;

struct Launch {
  Dim3 grid;
  Dim3 block;
  size_t shared_bytes = 0;        // what dynamic_shared() points to
  std::string name = "a kernel";  // for messages
};

struct Options {
  // Blocks that may be under way at the same time. A block that waits for memory makes room for the
  // next to start, up to this number and 65,536 threads; who waits for a block beyond waits in
  // vain.
  uint32_t blocks_at_once = 256;
  // For the whole launch. A kernel that takes longer is stopped and described.
  int64_t deadline_ms = 60'000;
  // 0: threads take their turns in order. Else the order is drawn from this seed, which brings out
  // what was right by luck of the order.
  uint64_t seed = 0;
  // Of each fibre. Most of it is never touched.
  size_t stack_bytes = 64 << 10;
};

// Runs body once for each thread of the grid. A failure (a hang, divergence at a barrier or in a
// warp operation, a write behind shared memory) names kernel, block, thread and operation; the
// stacks of unfinished threads are then dropped without their destructors.
Status run(const Launch& launch, const std::function<void()>& body, const Options& options = {});

}  // namespace strait::simt
