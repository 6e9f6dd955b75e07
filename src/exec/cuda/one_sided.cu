// The kernels of one-sided calls. The bytes of a put between GPUs are copied by the GPU's copy
// engine before the signal's kernel begins, or by that kernel if they are few; a put to a peer that
// only links reach is one kernel.
//
//   signal   copies a small put, counts, and stores the count in the peer's memory
//   put      fills slots of a ring in pinned memory, which the host empties into links
//   wait     until every signal has come as often as it says; then takes all of them at once
//
// Every wait looks at the communicator's abort, and says in a record what it waits for.

#include "exec/cuda/one_sided_call.hpp"
#include "exec/cuda/ports.cuh"

namespace strait::gpu {
namespace {

// For a few instructions: whoever holds it goes on by itself.
__device__ void lock(OneSidedState* state) {
  while (atomicCAS(&state->lock, 0u, 1u) != 0) device::nanosleep(100);
  __threadfence();
}
__device__ void unlock(OneSidedState* state) {
  __threadfence();
  atomicExch(&state->lock, 0u);
}

__device__ bool is_aborted(const DeviceOneSided& at) {
  return device::load_relaxed(&at.engine->abort) != 0;
}

// Under the lock, so that counts only grow.
__device__ void add_one(uint64_t* count) {
  device::store_release_system(count, device::load_relaxed(count) + 1);
}

__device__ void end(const DeviceOneSided& at, bool by_ring) {
  lock(at.state);
  if (by_ring) add_one(&at.report->puts_finished);
  add_one(&at.report->finished);
  unlock(at.state);
}

// ---- Waits --------------------------------------------------------------------------------------

__device__ bool claim(const DeviceOneSided& at, uint64_t number, uint32_t* record) {
  uint32_t next = static_cast<uint32_t>(number);
  const bool got = wait_for(at.engine, [&] {
    *record = next++ % kWaitsAtOnce;
    return atomicCAS(&at.state->claimed[*record], 0u, 1u) == 0;
  });
  return got;
}

__device__ uint64_t untaken(const WaitEntry& entry) {
  return device::load_acquire_system(entry.arrived) - device::load_relaxed(entry.taken);
}

__device__ void tell(WaitRecord* record, uint64_t number, const WaitEntry& entry, uint64_t have) {
  device::store_relaxed(&record->have, have);
  device::store_relaxed(&record->need, entry.need);
  device::store_relaxed(&record->place, entry.place);
  device::store_release_system(&record->number, number);
}

__device__ bool have_all_come(const WaitCall& call, WaitRecord* record, uint64_t number) {
  for (uint32_t i = 0; i < call.count; ++i) {
    const WaitEntry& entry = call.entries[i];
    uint64_t told = ~uint64_t{0};
    const bool came = wait_for(call.at.engine, [&] {
      const uint64_t have = untaken(entry);
      if (have >= entry.need) return true;
      if (have != told) tell(record, number, entry, have);
      told = have;
      return false;
    });
    if (!came) return false;
  }
  return true;
}

// False: another wait has taken some of them meanwhile.
__device__ bool take(const WaitCall& call) {
  lock(call.at.state);
  bool all = true;
  for (uint32_t i = 0; i < call.count; ++i)
    all = all && untaken(call.entries[i]) >= call.entries[i].need;
  for (uint32_t i = 0; all && i < call.count; ++i) {
    const WaitEntry& entry = call.entries[i];
    device::store_relaxed(entry.taken, device::load_relaxed(entry.taken) + entry.need);
  }
  unlock(call.at.state);
  return all;
}

__device__ void wait(const WaitCall& call) {
  lock(call.at.state);
  const uint64_t number = ++call.at.state->waits_begun;
  unlock(call.at.state);
  uint32_t place = 0;
  if (!claim(call.at, number, &place)) return;
  WaitRecord* record = &call.at.report->waits[place];
  while (have_all_come(call, record, number) && !take(call)) {
  }
  device::store_release_system(&record->number, uint64_t{0});
  __threadfence_system();
  atomicExch(&call.at.state->claimed[place], 0u);
}

// ---- Puts by the ring ---------------------------------------------------------------------------

__device__ void copy_bytes(unsigned char* to, const unsigned char* from, uint64_t bytes) {
  uint64_t whole = 0;
  if ((reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to)) % 16 == 0) {
    whole = bytes / 16 * 16;
    for (uint64_t i = uint64_t{threadIdx.x} * 16; i < whole; i += uint64_t{blockDim.x} * 16)
      device::store16(to + i, device::load16(from + i));
  }
  for (uint64_t i = whole + threadIdx.x; i < bytes; i += blockDim.x) to[i] = from[i];
}

// All threads; false: told to stop.
__device__ bool put_piece(const PutCall& call, uint64_t sent, uint64_t piece, bool* stop) {
  DevicePort& ring = call.at.state->ring;
  if (threadIdx.x == 0) *stop = !wait_for_room(call.at.engine, ring);
  __syncthreads();
  if (*stop) return false;
  unsigned char* slot = slot_of(ring);
  if (threadIdx.x == 0) {
    RingHeader header = call.header;
    header.put.offset += sent;
    header.put.bytes = static_cast<uint32_t>(piece);
    if (sent + piece < call.bytes) header.put.signal = -1;
    *reinterpret_cast<RingHeader*>(slot) = header;
  }
  copy_bytes(slot + sizeof(RingHeader), call.source + sent, piece);
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) post(ring, sizeof(RingHeader) + piece, SlotMark{});
  return true;
}

__device__ void put(const PutCall& call, bool* stop) {
  uint64_t sent = 0;
  do {
    const uint64_t left = call.bytes - sent;
    const uint64_t piece = left < call.piece_bytes ? left : call.piece_bytes;
    if (!put_piece(call, sent, piece, stop)) return;
    sent += piece;
    __syncthreads();
  } while (sent < call.bytes);
}

}  // namespace
}  // namespace strait::gpu

extern "C" __global__ void __launch_bounds__(strait::kPutThreads, 1)
    strait_signal(const __grid_constant__ strait::SignalCall call) {
  if (call.bytes > 0) {
    strait::gpu::copy_bytes(call.target, call.source, call.bytes);
    __threadfence_system();
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  if (!strait::gpu::is_aborted(call.at)) {
    strait::OneSidedState* state = call.at.state;
    strait::gpu::lock(state);
    *call.sent += 1;
    __threadfence_system();
    strait::device::store_release_system(call.arrived, *call.sent);
    strait::gpu::unlock(state);
  }
  strait::gpu::end(call.at, false);
}
STRAIT_SIMT_KERNEL(strait_signal);

extern "C" __global__ void __launch_bounds__(32, 1)
    strait_wait(const __grid_constant__ strait::WaitCall call) {
  if (threadIdx.x != 0) return;
  strait::gpu::wait(call);
  strait::gpu::end(call.at, false);
}
STRAIT_SIMT_KERNEL(strait_wait);

extern "C" __global__ void __launch_bounds__(strait::kPutThreads, 1)
    strait_put(const __grid_constant__ strait::PutCall call) {
  __shared__ bool stop;
  uint32_t* put_lock = &call.at.state->put_lock;
  if (threadIdx.x == 0) {
    stop = !strait::gpu::wait_for(call.at.engine, [&] { return atomicCAS(put_lock, 0u, 1u) == 0; });
    __threadfence();
  }
  __syncthreads();
  const bool mine = !stop;
  __syncthreads();
  if (mine) strait::gpu::put(call, &stop);
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (mine) atomicExch(put_lock, 0u);
  strait::gpu::end(call.at, true);
}
STRAIT_SIMT_KERNEL(strait_put);
