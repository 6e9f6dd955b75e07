// Two ranks that pass messages through memory, each in a kernel of its own, and a block whose warps
// meet at named barriers.
#include "base/device.cuh"

namespace {
using namespace strait;
}

// Sends every word of `out` to the peer, and stores what comes from it: low-latency messages, each
// with its flag, in two rings of slots. A slot is free again when the peer has said so.
//
//   out ──> | d | flag | d | flag | ... ──> in        `consumed` goes the other way
extern "C" __global__ void __launch_bounds__(128)
    simt_exchange(const uint64_t* out, uint64_t* in, uint4* send_ring, uint4* recv_ring,
                  uint64_t* consumed_here, const uint64_t* consumed_there, uint32_t rounds) {
  const uint32_t slots = 4, width = blockDim.x;
  for (uint32_t round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) {
      while (device::load_acquire_system(consumed_there) + slots <= round) device::nanosleep(20);
    }
    __syncthreads();
    const uint32_t at = round % slots * width + threadIdx.x;
    device::store_flagged(send_ring + at, out[round * width + threadIdx.x], round + 1);
    uint64_t data = 0;
    while (!device::load_flagged(recv_ring + at, round + 1, &data)) {
    }
    in[round * width + threadIdx.x] = data;
    __syncthreads();
    if (threadIdx.x == 0) device::store_release_system(consumed_here, uint64_t{round} + 1);
  }
}
STRAIT_SIMT_KERNEL(simt_exchange);

// Warps 0 and 1 make numbers, warps 2 and 3 use them, through two buffers in shared memory.
extern "C" __global__ void __launch_bounds__(128) simt_pipeline(uint32_t* out, uint32_t rounds) {
  auto* buffers = reinterpret_cast<uint32_t*>(device::dynamic_shared());
  const bool makes = threadIdx.x < 64;
  const uint32_t at = threadIdx.x % 64;
  for (uint32_t round = 0; round < rounds; ++round) {
    const uint32_t buffer = round % 2, full = 1 + buffer, empty = 3 + buffer;
    uint32_t* word = buffers + 64 * buffer + at;
    if (makes) {
      if (round >= 2) device::named_barrier(empty, 128);
      *word = round * 64 + at;
      device::named_barrier_arrive(full, 128);
    } else {
      device::named_barrier(full, 128);
      // The neighbour's number: it is there, since all makers have arrived.
      out[round * 64 + at] = buffers[64 * buffer + (at ^ 1)];
      if (round + 2 < rounds) device::named_barrier_arrive(empty, 128);
    }
  }
}
STRAIT_SIMT_KERNEL(simt_pipeline);

// Moves bits through every kind of access of 16 bytes.
extern "C" __global__ void simt_copy16(const uint4* in, uint4* out) {
  const uint32_t at = threadIdx.x;
  uint4* shared = reinterpret_cast<uint4*>(device::dynamic_shared());
  device::store16(shared + at, device::load16_stream(in + at));
  device::store16_system(out + at, device::load16(shared + at));
  device::store16_stream(out + at, device::load16_system(out + at));
}
STRAIT_SIMT_KERNEL(simt_copy16);
