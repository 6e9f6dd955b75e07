// What the codec's kernels are held against: a plain copy on as many multiprocessors, and the clock
// that they run at.
#include "base/device.cuh"

namespace {

// Accesses of 16 bytes in flight in each thread; with 512 threads 64 KiB on a multiprocessor.
constexpr uint32_t kInFlight = 8;

}  // namespace

// `count` accesses of 16 bytes, by as many blocks as are launched.
extern "C" __global__ void __launch_bounds__(512, 1)
    strait_copy(const uint4* source, uint4* target, uint64_t count) {
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i + (kInFlight - 1) * stride < count; i += kInFlight * stride) {
    uint4 values[kInFlight];
#pragma unroll
    for (uint32_t k = 0; k < kInFlight; ++k)
      values[k] = strait::device::load16_stream(source + i + k * stride);
#pragma unroll
    for (uint32_t k = 0; k < kInFlight; ++k)
      strait::device::store16_stream(target + i + k * stride, values[k]);
  }
  for (; i < count; i += stride)
    strait::device::store16_stream(target + i, strait::device::load16_stream(source + i));
}
STRAIT_SIMT_KERNEL(strait_copy);

// Runs for that many nanoseconds; leaves how many clocks and nanoseconds passed.
extern "C" __global__ void strait_count_clocks(uint64_t ns, uint64_t* passed) {
  const uint64_t begin_ns = strait::device::globaltimer();
  const auto begin = static_cast<uint64_t>(clock64());
  uint64_t now_ns = begin_ns;
  while (now_ns - begin_ns < ns) now_ns = strait::device::globaltimer();
  passed[0] = static_cast<uint64_t>(clock64()) - begin;
  passed[1] = now_ns - begin_ns;
}
STRAIT_SIMT_KERNEL(strait_count_clocks);
