// GpuRates: how fast GPUs, what joins them, and kernels on them are: figures for estimates, by
// architecture. GB/s (1e9 bytes per second). A value; any thread; costs some calls of the driver.
#pragma once

#include "exec/cuda/engine.hpp"

namespace strait {

struct GpuRates {
  double memory = 0;  // read and written together
  double nvlink = 0;  // of all links of a GPU, each way; 0: it has none
  double pcie = 0;    // each way
};

// By compute capability: data sheets of the largest part of each generation. Unknown ones are taken
// for the last one known.
GpuRates rates_of(int compute_major, int compute_minor);

// Whether NVLink joins the engine's GPU with others: by fabric handles or the driver's word; where
// a process sees one GPU alone, by what is built of its kind.
Result<bool> is_on_nvlink(const GpuEngine& engine, int rank_count);

// What a block of a kernel does. Plain: 132 blocks of an H200 share its 4.8 TB/s.
inline constexpr double kBlockMemoryGigabytes = 36;
// Coded: 380 instructions of a warp make 512 values of bfloat16 small (tests/device/kernel_facts.py
// counts them); a multiprocessor begins 4 in a clock, with 8 warps about 2.5, at 1.75 GHz.
inline constexpr double kBlockCodecGigabytes = 12;
// A kernel's start, and a step's two barriers and flags across NVLink or PCIe.
inline constexpr double kKernelUs = 5;
inline constexpr double kGpuStepUs = 1.5;
inline constexpr double kNvlinkUs = 1;
inline constexpr double kPcieUs = 2;
// Until the host sees what a kernel has left for it (the engine's pause between looks).
inline constexpr double kHandOverUs = 20;

}  // namespace strait
