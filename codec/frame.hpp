// What frames a chunk: its modes and the numbers of its first 16 bytes, and the check over them.
// For hosts and GPUs alike; constants and a pure function, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strait::codec {

enum class Mode : uint8_t {
  kRaw = 0,    // the values as they are
  kZero = 1,   // all bits zero
  kFast = 2,   // per-block exponent window with escapes: at memory speed
  kDense = 3,  // entropy-coded exponents: smaller, slower
};

inline constexpr size_t kChunkOverhead = 16;  // bytes a raw chunk adds to its values

inline constexpr uint8_t kMagic = 0xC5;
inline constexpr uint8_t kVersion = 1;
inline constexpr uint8_t kPayloadChecked = 0x80;
// Bytes before the type, the count of values, and the check.
inline constexpr size_t kTypeAt = 3;
inline constexpr size_t kCountAt = 4;
inline constexpr size_t kCheckAt = 12;

// Every word is scrambled together with its place and the results are added: any number of lanes
// can share the work, and damage within one word never goes unseen.
constexpr uint32_t scrambled(uint32_t word, uint32_t index) {
  word ^= (index + 1) * 0x9E3779B1u;
  word = (word ^ (word >> 16)) * 0x85EBCA6Bu;
  word = (word ^ (word >> 13)) * 0xC2B2AE35u;
  return word ^ (word >> 16);
}

}  // namespace strait::codec
