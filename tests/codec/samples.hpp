// Arrays of values that a codec may meet, kind ones and hostile ones, for every number type. Made
// from fixed seeds, so a failure repeats.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace strait::codec {

struct Sample {
  std::string name;
  std::vector<uint8_t> bytes;
};

// A value of `type` near `value` (rounded towards zero; too small becomes zero, too large the
// largest exponent).
uint64_t bits_of(DataType type, double value);

void append_value(std::vector<uint8_t>& bytes, DataType type, uint64_t bits);

// About `count` values each.
std::vector<Sample> samples(DataType type, size_t count);

}  // namespace strait::codec
