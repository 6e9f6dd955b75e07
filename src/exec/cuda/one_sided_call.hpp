// What kernels are told of one-sided calls: counts of signals, the ring to the host for peers that
// the GPU does not reach, and where waits say what they wait for. Plain data that both sides lay
// out alike; the calls are kernel parameters, so a captured graph keeps its own copies, and what
// they point to lives as long as the communicator or the graph does.
//
// Signals are counted, never used up by whoever sends them: a peer's GPU, or the host for a peer
// that only links reach, stores how many it has sent; the waiting side counts what it has taken.
#pragma once

#include <cstdint>

#include "exec/cuda/device_call.hpp"

namespace strait {

// As many kernels as a GPU runs at once.
inline constexpr uint32_t kWaitsAtOnce = 128;
// Signals that one kernel waits for; a longer wait is several kernels.
inline constexpr uint32_t kWaitEntries = 112;
inline constexpr uint32_t kPutThreads = 512;

// A wait that goes on. kernel -> host.
struct alignas(64) WaitRecord {
  uint64_t number;  // of the wait, from 1; 0: nobody waits here. Written last
  uint64_t have;
  uint64_t need;
  uint32_t place;  // of the signal that is missing
};

// In pinned host memory, one per communicator. kernel -> host.
struct OneSidedReport {
  alignas(64) uint64_t finished;       // kernels of one-sided calls that have ended
  alignas(64) uint64_t puts_finished;  // of these, those by the ring
  WaitRecord waits[kWaitsAtOnce];
};

// In the GPU's memory, one per communicator; the counts of signals lie behind it.
struct OneSidedState {
  uint32_t lock;      // held for a moment, by one thread
  uint32_t put_lock;  // held while a put goes through the ring
  uint64_t waits_begun;
  uint32_t claimed[kWaitsAtOnce];  // records in use
  DevicePort ring;                 // to the host
};

struct DeviceOneSided {
  DeviceReport* engine;  // whose abort ends every wait
  OneSidedReport* report;
  OneSidedState* state;
};

// Puts what is small, and tells the peer that it, or what was copied before, is in place.
inline constexpr uint64_t kSmallPutBytesMax = 8 << 10;
struct SignalCall {
  DeviceOneSided at;
  const unsigned char* source;
  unsigned char* target;  // in the peer's memory
  uint64_t bytes;         // 0: only the signal
  uint64_t* sent;         // own count of the signals that went there
  uint64_t* arrived;      // in the peer's memory
};

// Before the bytes of a message, on links as in the ring.
struct PutHeader {
  uint32_t window;
  uint32_t bytes;
  uint64_t offset;
  int32_t context;
  int32_t signal;  // -1: more pieces follow
};
struct alignas(16) RingHeader {
  PutHeader put;
  int32_t peer;
};

// A put, or a signal alone, by way of the host.
struct PutCall {
  DeviceOneSided at;
  const unsigned char* source;
  uint64_t bytes;
  uint64_t piece_bytes;
  RingHeader header;  // of the whole
};

struct WaitEntry {
  const uint64_t* arrived;
  uint64_t* taken;
  uint64_t need;
  uint32_t place;
};
struct WaitCall {
  DeviceOneSided at;
  uint32_t count;
  WaitEntry entries[kWaitEntries];
};
static_assert(sizeof(WaitCall) <= 4096, "what a kernel's parameters may be");

}  // namespace strait
