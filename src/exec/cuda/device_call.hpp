// What a kernel is told of one collective: the plan as the device reads it, the ports of its links,
// and where it reports to. Plain data that both sides lay out alike. A DeviceCall is a kernel
// parameter, so a captured graph keeps its own copy; what it points to lives as long as the
// communicator or the graph does. Written by the host, read by the kernel, but for the fields that
// say otherwise.
#pragma once

#include <cstdint>

namespace strait {

// ---- Links, as a kernel turns them ------------------------------------------------------------

// Stands beside a slot. The sender writes it last; the receiver polls it.
struct alignas(16) SlotMark {
  uint64_t word;  // low half: bytes; high half: number of the message + 1
  uint32_t tag;   // of the call
  uint8_t type;   // of the values: a DataType
  uint8_t mode;   // of a chunk that the kernel encoded as the port's far end wanted it: which mode
                  // that was; else kNoMode
  uint16_t took;  // of that chunk: the time to encode it, in units of kTookUnitNs, all at most
  uint64_t value_bytes;  // before the kernel coded them, or as they are
};
inline constexpr uint8_t kNoMode = 0xff;
inline constexpr uint64_t kTookUnitNs = 64;

inline constexpr uint64_t slot_word(uint64_t sequence, uint64_t bytes) {
  return (sequence + 1) << 32 | bytes;
}

// One end of a link: a ring of slots that the kernel fills or empties itself. The other end is a
// kernel on a GPU that shares the memory, or the proxy. Used by one block at a time.
//
//   sender:   waits until sequence - *released < slot_count, fills slot, then its mark
//   receiver: waits for the mark of its sequence, empties slot, then *released = sequence + 1
struct DevicePort {
  unsigned char* slots;
  uint64_t slot_stride;
  SlotMark* marks;
  uint64_t* released;      // partner: the other end
  const uint32_t* mode;    // of chunks, as the other end wants them where it may choose
  unsigned char* flagged;  // slots of the low-latency protocol; null: there are none
  uint64_t flagged_stride;
  uint32_t slot_count;
  uint32_t peer;
  uint64_t sequence;  // of the next message; the kernel's
};

// Values that are coded by nobody on the GPU, on an edge that carries chunks, lie so far into a
// slot: a chunk's header has its place before them.
inline constexpr uint32_t kChunkLead = 16;

// The most that travels by the low-latency protocol, where each 8 bytes carry their own flags. The
// first line of a message says what it is.
inline constexpr uint32_t kFlaggedBytesMax = 8192;
inline constexpr uint64_t kFlaggedStride = 2 * (kFlaggedBytesMax + 8);

// Threads of a block, a multiple of 32; at most so many, which leaves each 96 registers.
inline constexpr uint32_t kBlockThreadsMax = 640;

// Threads of a block whose kernel codes.
inline constexpr uint32_t kCodedThreads = 512;
// Dynamic shared memory: messages of the low-latency protocol, in and out; then the coder's.
inline constexpr uint32_t kLaneSharedBytes = 2 * kFlaggedBytesMax;
inline constexpr uint32_t kCodedSharedBytes = kLaneSharedBytes + 32 * 129 * 4;

// ---- The plan ---------------------------------------------------------------------------------

// How the chunks that leave are made.
struct DeviceCoding {
  uint8_t mode;    // a codec::Mode: the most that is tried
  uint8_t chosen;  // not 0: the port's far end chooses it, chunk by chunk
  uint8_t checksum;
};

enum class DeviceBuffer : uint8_t { kNone, kInput, kOutput, kScratch };

struct DevicePlace {
  uint64_t offset;  // elements
  DeviceBuffer buffer;
};

struct DeviceStep {
  uint64_t count;
  DevicePlace source;
  DevicePlace addend;
  DevicePlace target;
  DevicePort* recv_port;  // null: nothing comes
  DevicePort* send_port;  // null: nothing goes
  bool recv_coded;
  bool send_coded;
  bool finish;
};

struct DeviceLane {
  uint64_t piece;
  uint64_t rounds;
  uint32_t first_step;
  uint32_t step_count;
  uint64_t staging;         // bytes into DeviceCall::staging; kNoStaging: it encodes nothing
  uint64_t staging_stride;  // bytes of its part for values
  uint32_t next;            // the lane that the same block runs afterwards; kNoLane: none
  uint32_t type;            // a DataType; what the marks of this lane's messages say
  uint32_t tag;             // of this lane's messages; 0: the call's
};
inline constexpr uint32_t kNoLane = 0xffffffff;
inline constexpr uint64_t kNoStaging = ~uint64_t{0};

// ---- What the kernel reports ------------------------------------------------------------------

enum class DeviceFailure : uint32_t {
  kNone = 0,
  kAborted,     // by the host; found: waited_for(), expected: the tag of what was waited for
  kWrongTag,    // found: the tag that came
  kWrongBytes,  // found: the bytes that came
  kDamaged,     // a coded chunk; found: the codec's verdict
};

// For a message of the peer, or for room in what it takes.
inline constexpr uint64_t waited_for(uint64_t peer, bool message) {
  return peer << 1 | (message ? 1 : 0);
}

// In pinned host memory, one per communicator. The first failure wins.
struct DeviceReport {
  alignas(64) uint32_t abort;    // host -> kernel: stop; not 0
  alignas(64) uint32_t failure;  // kernel -> host: a DeviceFailure, set before the rest is written
  uint32_t complete;             // kernel -> host: the rest is written
  uint32_t lane;
  uint32_t step;
  uint64_t round;
  uint64_t found;
  uint64_t expected;
  alignas(64) uint64_t progress;  // kernel -> host: changes while something moves
  uint64_t started;               // kernel -> host: calls that have begun
  uint64_t finished;              // kernel -> host: calls that have ended
};

// ---- The call ---------------------------------------------------------------------------------

enum class DeviceOperation : uint8_t { kSum, kProd, kMax, kMin };

struct DeviceArithmetic {
  DeviceOperation operation;
  bool scales_input;  // input is multiplied by the factor of its kind as it is read
  double scale_float;
  uint64_t scale_integer;
  uint64_t divisor;  // of finished integers; 1: none
};

struct DeviceCall {
  const DeviceLane* lanes;  // block i begins with lane i
  const DeviceStep* steps;
  const unsigned char* input;
  unsigned char* output;
  unsigned char* scratch;
  unsigned char* staging;
  DeviceCoding coding;
  DeviceReport* report;
  uint32_t* arrivals;  // blocks of this call that have ended; the last one sets it back to 0
  DeviceArithmetic arithmetic;
  const void* scalar_place;  // the factor, one element; null: the arithmetic's own
  uint32_t tag;              // of the call; a batch of sends and receives has none
};

}  // namespace strait
