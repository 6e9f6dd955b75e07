// What each data type is to a kernel: the vector it is computed in, how it is read and written in
// its two forms, and the four operations. Private to the target_*.cpp files, as lanes.hpp.
//
// max and min: a number wins over a NaN, and +0 is greater than -0 (as CUDA's fmax and fmin). With
// one NaN pattern in every result all four operations commute bit for bit. Integers wrap around.
#pragma once

#include "exec/reduce/lanes.hpp"

namespace strait::reduce::STRAIT_TARGET {
namespace {

template <class T>
struct SameSize;
template <>
struct SameSize<float> {
  using Integer = int32_t;
};
template <>
struct SameSize<double> {
  using Integer = int64_t;
};

template <class T>
struct FloatMath {
  static constexpr bool kIsFloat = true;
  static constexpr size_t kLanes = kVectorBytes / sizeof(T);
  using Value = Vector<T, kLanes>;
  using Integers = Vector<typename SameSize<T>::Integer, kLanes>;

  STRAIT_INLINE static Value factor(const Source& source) {
    return Value{} + static_cast<T>(source.factor_float);
  }
  STRAIT_INLINE static Value sum(Value a, Value b) { return a + b; }
  STRAIT_INLINE static Value prod(Value a, Value b) { return a * b; }
  // Equal values have equal bits, but for zeros of different sign.
  STRAIT_INLINE static Value max(Value a, Value b) {
    const Integers first_wins = (a > b) | (b != b);
    const Value greater = first_wins ? a : b;
    return a == b ? (Value)((Integers)a & (Integers)b) : greater;
  }
  STRAIT_INLINE static Value min(Value a, Value b) {
    const Integers first_wins = (a < b) | (b != b);
    const Value smaller = first_wins ? a : b;
    return a == b ? (Value)((Integers)a | (Integers)b) : smaller;
  }
};

template <class T>
struct WholeFloat : FloatMath<T> {
  using typename FloatMath<T>::Value;
  using typename FloatMath<T>::Integers;
  static constexpr size_t kNarrowBytes = sizeof(T);
  static constexpr bool kHasWideForm = false;

  STRAIT_INLINE static Value load(const void* from) { return load_vector<Value>(from); }
  STRAIT_INLINE static void store(void* to, Value value) {
    constexpr auto kOneNan = typename SameSize<T>::Integer(~0ull >> (65 - 8 * sizeof(T)));
    store_vector(to, value != value ? (Value)(Integers{} + kOneNan) : value);
  }
};

// A float format that is computed in fp32. kPatterns: the vector of its bit patterns.
template <class Pattern>
struct NarrowFloat : FloatMath<float> {
  static constexpr size_t kNarrowBytes = sizeof(Pattern);
  static constexpr bool kHasWideForm = true;
  using Patterns = Vector<Pattern, kFloatLanes>;

  STRAIT_INLINE static Floats load_wide(const void* from) { return load_vector<Floats>(from); }
  STRAIT_INLINE static void store_wide(void* to, Floats value) {
    store_vector(to, with_one_nan(value));
  }
};

struct Bfloat16 : NarrowFloat<uint16_t> {
  STRAIT_INLINE static Floats load(const void* from) {
    return (Floats)(__builtin_convertvector(load_vector<Shorts>(from), Words) << 16);
  }
  STRAIT_INLINE static void store(void* to, Floats value) {
    store_vector(to, encode_bfloat(value));
  }
};

struct Float16 : NarrowFloat<uint16_t> {
  STRAIT_INLINE static Floats load(const void* from) {
    return decode_half(load_vector<Shorts>(from));
  }
  STRAIT_INLINE static void store(void* to, Floats value) { store_vector(to, encode_half(value)); }
};

template <class Layout>
struct Float8 : NarrowFloat<uint8_t> {
  STRAIT_INLINE static Floats load(const void* from) {
    return decode<Layout>(__builtin_convertvector(load_vector<Bytes>(from), Words));
  }
  STRAIT_INLINE static void store(void* to, Floats value) {
    store_vector(to, __builtin_convertvector(encode<Layout>(value), Bytes));
  }
};

// Sums and products are those of the unsigned type, which wrap around; T decides comparisons and
// division.
template <class T, class Unsigned>
struct Whole {
  static constexpr bool kIsFloat = false;
  static constexpr bool kHasWideForm = false;
  static constexpr size_t kNarrowBytes = sizeof(T);
  static constexpr size_t kLanes = kVectorBytes / sizeof(T);
  using Number = T;
  using Value = Vector<Unsigned, kLanes>;
  using Compared = Vector<T, kLanes>;

  STRAIT_INLINE static Value factor(const Source& source) {
    return Value{} + static_cast<Unsigned>(source.factor_integer);
  }
  STRAIT_INLINE static Value load(const void* from) { return load_vector<Value>(from); }
  STRAIT_INLINE static void store(void* to, Value value) { store_vector(to, value); }
  STRAIT_INLINE static Value sum(Value a, Value b) { return a + b; }
  STRAIT_INLINE static Value prod(Value a, Value b) { return a * b; }
  STRAIT_INLINE static Value max(Value a, Value b) { return (Compared)a > (Compared)b ? a : b; }
  STRAIT_INLINE static Value min(Value a, Value b) { return (Compared)a < (Compared)b ? a : b; }
};

}  // namespace
}  // namespace strait::reduce::STRAIT_TARGET
