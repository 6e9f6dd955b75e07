// Bit patterns that find mistakes: every type's zeros, limits, subnormal numbers, infinities and
// NaNs, mixed with random ones. Deterministic for a seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "exec/reduce_reference.hpp"

namespace strait::reference {

inline std::vector<uint64_t> special_patterns(size_t bytes) {
  const int bits = static_cast<int>(8 * bytes);
  const uint64_t top = uint64_t{1} << (bits - 1);
  std::vector<uint64_t> patterns = {0, 1, 2, 3, top - 2, top - 1, top, top + 1, ~uint64_t{0}};
  if (bytes == 1) patterns.insert(patterns.end(), {0x7c, 0x7b, 0x7e, 0xfc, 0xfb, 0x08, 0x07, 0x04});
  if (bytes == 2)
    patterns.insert(patterns.end(), {0x7c00, 0x7bff, 0x7c01, 0xfc00, 0x0400, 0x03ff, 0x3c00, 0x7f80,
                                     0x7f7f, 0x7f81, 0xff80, 0x0080, 0x007f, 0x3f80});
  if (bytes == 4)
    patterns.insert(patterns.end(),
                    {0x7f800000, 0xff800000, 0x7f7fffff, 0x7f800001, 0xffc00001, 0x00800000,
                     0x007fffff, 0x3f800000, 0x3f808000, 0x3f818000, 0x477ff000, 0x477fefff,
                     0x33000000, 0x33000001, 0x43e00000, 0x43e80001, 0x47680000, 0x7f7f8000});
  if (bytes == 8)
    patterns.insert(patterns.end(), {0x7ff0000000000000, 0xfff0000000000000, 0x7fefffffffffffff,
                                     0x7ff0000000000001, 0x0010000000000000, 0x3ff0000000000000});
  return patterns;
}

// Half random patterns; the others special ones or numbers near one, whose sums round and cancel.
inline void fill(std::vector<char>& data, size_t bytes, std::mt19937_64& random) {
  const std::vector<uint64_t> special = special_patterns(bytes);
  for (size_t i = 0; i < data.size() / bytes; ++i) {
    const uint64_t choice = random() % 8;
    uint64_t bits = random();
    if (choice < 2) bits = special[random() % special.size()];
    if (choice >= 2 && choice < 4 && bytes > 1)
      bits = (bits >> (bytes == 8 ? 4 : 2)) & ~(uint64_t{3} << (8 * bytes - 2));
    put(data.data(), bytes, i, bits);
  }
}

}  // namespace strait::reference
