// The ends of links as a block turns them: waiting for a message or for room, and passing on.
// Device code; one thread of the block, but for the low-latency protocol, where all take part.
//
// A wait looks at the host's abort now and then, so a kernel always ends: by its peers or by its
// host, which has the deadline.
#pragma once

#include "base/device.cuh"
#include "exec/cuda/device_call.hpp"

namespace strait::gpu {

inline constexpr uint32_t kLooksPerAbort = 256;  // the flag lies in host memory

// False: the host said stop.
template <class Ready>
__device__ bool wait_for(const DeviceReport* report, Ready ready) {
  for (uint32_t looks = 1; !ready(); ++looks) {
    if (looks % kLooksPerAbort != 0) continue;
    if (device::load_relaxed(&report->abort) != 0) return false;
    device::nanosleep(100);
  }
  return true;
}

__device__ inline bool wait_for_room(const DeviceReport* report, const DevicePort& port) {
  return wait_for(report, [&] {
    return port.sequence - device::load_acquire_system(port.released) < port.slot_count;
  });
}

// Which slot is next. A GPU divides 64 bits by a call of a hundred instructions; few need it.
__device__ inline uint64_t slot_index(const DevicePort& port) {
  const auto low = static_cast<uint32_t>(port.sequence);
  return port.sequence == low ? low % port.slot_count : port.sequence % port.slot_count;
}
__device__ inline unsigned char* slot_of(const DevicePort& port) {
  return port.slots + slot_index(port) * port.slot_stride;
}
__device__ inline unsigned char* flagged_slot_of(const DevicePort& port) {
  return port.flagged + slot_index(port) * port.flagged_stride;
}

// After every thread of the block has written its part and met the others at a barrier. The facts
// are all that a mark says but its word.
__device__ inline void post(DevicePort& port, uint64_t bytes, SlotMark facts) {
  SlotMark* mark = &port.marks[slot_index(port)];
  mark->tag = facts.tag;
  mark->type = facts.type;
  mark->mode = facts.mode;
  mark->took = facts.took;
  mark->value_bytes = facts.value_bytes;
  device::store_release_system(&mark->word, slot_word(port.sequence, bytes));
  ++port.sequence;
}

struct Arrived {
  bool ok;
  uint64_t bytes;
  uint32_t tag;
};

__device__ inline Arrived wait_for_message(const DeviceReport* report, const DevicePort& port) {
  const SlotMark* mark = &port.marks[slot_index(port)];
  const auto awaited = static_cast<uint32_t>(port.sequence + 1);
  uint64_t word = 0;
  const bool came = wait_for(report, [&] {
    word = device::load_acquire_system(&mark->word);
    return static_cast<uint32_t>(word >> 32) == awaited;
  });
  return {came, word & 0xffffffffu, came ? mark->tag : 0};
}

__device__ inline void release(DevicePort& port) {
  device::store_release_system(port.released, ++port.sequence);
}

// ---- The low-latency protocol: a line of 16 bytes carries 8 and the message's number twice -----

__device__ inline uint32_t flag_of(const DevicePort& port) {
  return static_cast<uint32_t>(port.sequence + 1);
}

// `data` holds `bytes`, filled up to a multiple of 8. All threads of the block.
__device__ inline void send_flagged(const DevicePort& port, const unsigned char* data,
                                    uint32_t bytes, uint32_t tag) {
  unsigned char* lines = flagged_slot_of(port);
  const uint32_t flag = flag_of(port);
  if (threadIdx.x == 0)
    device::store_flagged(lines, static_cast<uint64_t>(tag) << 32 | bytes, flag);
  for (uint32_t i = threadIdx.x; i < (bytes + 7) / 8; i += blockDim.x)
    device::store_flagged(lines + 16 + uint64_t{i} * 16, reinterpret_cast<const uint64_t*>(data)[i],
                          flag);
}

// The message's first line: what it is. One thread.
__device__ inline Arrived wait_for_flagged(const DeviceReport* report, const DevicePort& port) {
  uint64_t head = 0;
  const bool came = wait_for(
      report, [&] { return device::load_flagged(flagged_slot_of(port), flag_of(port), &head); });
  return {came, head & 0xffffffffu, static_cast<uint32_t>(head >> 32)};
}

// The rest, all threads of the block; false: the host said stop.
__device__ inline bool receive_flagged(const DeviceReport* report, const DevicePort& port,
                                       unsigned char* data, uint32_t bytes) {
  const unsigned char* lines = flagged_slot_of(port) + 16;
  const uint32_t flag = flag_of(port);
  bool came = true;
  for (uint32_t i = threadIdx.x; came && i < (bytes + 7) / 8; i += blockDim.x)
    came = wait_for(report, [&] {
      return device::load_flagged(lines + uint64_t{i} * 16, flag,
                                  &reinterpret_cast<uint64_t*>(data)[i]);
    });
  return came;
}

}  // namespace strait::gpu
