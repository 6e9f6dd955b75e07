// Three kernels as they are everywhere: a scan, a sum and a histogram over blocks.
#include "base/device.cuh"

namespace {

using namespace strait;

__device__ __forceinline__ uint32_t warp_scan(uint32_t value) {
  for (uint32_t step = 1; step < 32; step *= 2) {
    const uint32_t below = __shfl_up_sync(0xffffffffu, value, step);
    if (device::lane_id() >= step) value += below;
  }
  return value;
}

// Adds up what the warps before this one have.
__device__ __forceinline__ uint32_t block_scan(uint32_t value) {
  __shared__ uint32_t totals[32];
  const uint32_t warp = threadIdx.x / 32, sum = warp_scan(value);
  if (device::lane_id() == 31) totals[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    const uint32_t own = device::lane_id() < blockDim.x / 32 ? totals[device::lane_id()] : 0;
    totals[device::lane_id()] = warp_scan(own) - own;
  }
  __syncthreads();
  const uint32_t before = totals[warp];
  __syncthreads();
  return before + sum;
}

}  // namespace

// Inclusive sums over all blocks: each waits for the running total of the one before it.
//
//   block 0: scan ──total──> block 1: scan ──total──> block 2 ...
extern "C" __global__ void __launch_bounds__(1024)
    simt_scan(const uint32_t* in, uint32_t* out, uint64_t* totals, uint32_t count) {
  __shared__ uint32_t carried;
  const uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t sum = block_scan(at < count ? in[at] : 0);
  if (threadIdx.x == blockDim.x - 1) {
    uint64_t before = 0;
    if (blockIdx.x != 0) {
      // The high word tells that the low one is there.
      while ((before = device::load_acquire_device(totals + blockIdx.x - 1)) >> 32 == 0) {
      }
    }
    carried = static_cast<uint32_t>(before);
    device::store_release_device(totals + blockIdx.x, uint64_t{1} << 32 | (carried + sum));
  }
  __syncthreads();
  if (at < count) out[at] = carried + sum;
}
STRAIT_SIMT_KERNEL(simt_scan);

// 16 bytes a thread and turn, then shuffles, then shared memory, then one atomic a block.
extern "C" __global__ void __launch_bounds__(256)
    simt_sum(const uint4* in, unsigned long long* total, uint32_t count) {
  auto* sums = reinterpret_cast<uint32_t*>(device::dynamic_shared());
  uint32_t sum = 0;
  for (uint32_t at = blockIdx.x * blockDim.x + threadIdx.x; at < count;
       at += gridDim.x * blockDim.x) {
    const uint4 four = device::load16_stream(in + at);
    sum += four.x + four.y + four.z + four.w;
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (device::lane_id() == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const uint32_t own = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
  const uint32_t all = __reduce_add_sync(0xffffffffu, own);
  if (threadIdx.x == 0) atomicAdd(total, static_cast<unsigned long long>(all));
}
STRAIT_SIMT_KERNEL(simt_sum);

// Lanes with the same byte add once for all of them.
extern "C" __global__ void __launch_bounds__(256)
    simt_histogram(const uint8_t* in, uint32_t* counts, uint32_t count) {
  __shared__ uint32_t own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t first = blockIdx.x * blockDim.x; first < count; first += step) {
    const uint32_t at = first + threadIdx.x;
    const uint32_t lanes = __ballot_sync(0xffffffffu, at < count);
    if (at >= count) continue;
    const uint32_t byte = in[at], same = __match_any_sync(lanes, byte);
    if ((same & device::lane_mask_lt()) == 0) atomicAdd(own + byte, __popc(same));
  }
  __syncthreads();
  atomicAdd(counts + threadIdx.x, own[threadIdx.x]);
}
STRAIT_SIMT_KERNEL(simt_histogram);
