// Byte planes that are partly zero: a bit for each byte and the bytes that are not zero, or the
// same for the two halves of each byte. Pure functions; any thread.
#pragma once

#include "codec/kernels.hpp"

namespace strait::codec {

struct PlaneCost {
  PlaneMode mode = PlaneMode::kFull;
  size_t plane_bytes = 0;
  size_t list_bytes = 0;
};

// The smallest way to store a byte plane.
PlaneCost choose_plane(const Kernels& kernels, const uint8_t* bytes, size_t n);

// Writes a plane and advances both pointers; list has room for n + kListSlack bytes.
void write_plane(const Kernels& kernels, PlaneMode mode, const uint8_t* bytes, size_t n,
                 uint8_t*& planes, uint8_t*& list);

// Reads a plane and advances both pointers. Returns its bytes: where they are, or in `room`; null
// when the list ends too early.
const uint8_t* read_plane(const Kernels& kernels, PlaneMode mode, const uint8_t*& planes,
                          const uint8_t*& list, const uint8_t* list_end, size_t n, uint8_t* room);

}  // namespace strait::codec
