// The reductions of exec/reduce.hpp told slowly, for the tests: one element at a time, in double or
// 128-bit integers, with conversions that search a table of all values instead of shifting bits.
// Shares no code with what it judges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/reduce.hpp"

namespace strait::reference {

// The value of a bit pattern of a float type, exact (every one fits a double).
double decode(DataType type, uint64_t bits);
// The pattern of a float type nearest to an exact value; ties to the even one. fp8 saturates.
uint64_t encode(DataType type, double value);

// What combine() must write for one element. Patterns of the operands' forms in, of the output's
// form out. `second` is ignored without has_second.
struct Case {
  Arithmetic arithmetic;
  Form out = Form::kNarrow;
  Form first_form = Form::kNarrow;
  Form second_form = Form::kNarrow;
  bool has_second = true;
  bool first_scaled = false;
  bool second_scaled = false;
  bool finish = false;
};
uint64_t combine(const Case& c, uint64_t first, uint64_t second);

size_t bytes_of(DataType type, Form form);
uint64_t get(const void* data, size_t bytes, size_t index);
void put(void* data, size_t bytes, size_t index, uint64_t bits);

}  // namespace strait::reference
