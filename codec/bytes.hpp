// Loads and stores of numbers at any address, little endian as on every machine that Strait runs
// on. No cost.
#pragma once

#include <bit>
#include <cstring>

namespace strait::codec {

static_assert(std::endian::native == std::endian::little, "the wire format is little endian");

template <class Number>
inline Number load(const void* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

template <class Number>
inline void store(void* at, Number number) {
  std::memcpy(at, &number, sizeof number);
}

}  // namespace strait::codec
