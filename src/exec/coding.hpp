// How the values of coded edges become chunks: as the communicator or the call wants, or as the
// link's own policy chooses. For the thread that owns the port.
#pragma once

#include "codec/codec.hpp"
#include "exec/ports.hpp"

namespace strait {

struct Coding {
  codec::Options options;
  bool chooses_mode = false;  // each chunk's mode is its port's choice, not options.mode
};

// Bytes sent, counted by the executing thread; read by any thread through relaxed loads.
struct TrafficCounters {
  std::atomic<uint64_t> plain_bytes{0};        // partner: Communicator::stats
  std::atomic<uint64_t> lent_bytes{0};         // of these; partner: Communicator::stats
  std::atomic<uint64_t> coded_value_bytes{0};  // partner: Communicator::stats
  std::atomic<uint64_t> coded_wire_bytes{0};   // partner: Communicator::stats
};

// For counters with one writer: no read-modify-write needed.
inline void count_bytes(std::atomic<uint64_t>& counter, size_t bytes) {
  counter.store(counter.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}
// What goes through the port in one coded chunk; a forwarded chunk counts too.
void count_coded(SendPort& port, TrafficCounters& traffic, size_t value_bytes, size_t wire_bytes);

// The mode for the next chunk of a port whose chunks somebody else encodes: now and then one that
// is only tried. Logs when the port's choice changes.
codec::Mode next_mode(SendPort& port, DataType type);

// Encodes into the slot that the port holds; returns the chunk's bytes, and counts them. Logs when
// the port's choice changes.
size_t encode_into_slot(SendPort& port, TrafficCounters& traffic, const Coding& coding,
                        DataType type, const void* values, size_t count);

}  // namespace strait
