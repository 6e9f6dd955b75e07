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

// A float format that is computed in fp32.
template <class Pattern>
struct NarrowFloat : FloatMath<float> {
  static constexpr size_t kNarrowBytes = sizeof(Pattern);
  static constexpr bool kHasWideForm = true;
  using Patterns = Vector<Pattern, kFloatLanes>;

  STRAIT_INLINE static Floats load_wide(const void* from) { return load_vector<Floats>(from); }
  STRAIT_INLINE static void store_wide(void* to, Floats value) {
    store_vector(to, with_nan(value, 0x7fffffff));
  }
};

struct Bfloat16 : NarrowFloat<uint16_t> {
  STRAIT_INLINE static Floats load(const void* from) {
    return (Floats)(widen(load_vector<Shorts>(from)) << 16);
  }
  STRAIT_INLINE static void store(void* to, Floats value) {
    store_vector(to, narrow_to_shorts(round_to_bfloat(value)));
  }
};

// Two vectors of floats: the even elements and the odd ones of a run.
struct FloatPairs {
  Floats even;
  Floats odd;
};

// Where every operand is narrow the order within a vector does not matter: even and odd elements
// are taken apart where they lie, which spares the shuffles.
struct Bfloat16Only {
  using Single = FloatMath<float>;
  using Value = FloatPairs;
  static constexpr bool kIsFloat = true;
  static constexpr bool kHasWideForm = false;
  static constexpr size_t kNarrowBytes = 2;
  static constexpr size_t kLanes = 2 * kFloatLanes;

  STRAIT_INLINE static Value factor(const Source& source) {
    const Floats one = Single::factor(source);
    return {one, one};
  }
  STRAIT_INLINE static Value load(const void* from) {
    const Words words = load_vector<Words>(from);
    return {(Floats)(words << 16), (Floats)(words & 0xffff0000u)};
  }
  STRAIT_INLINE static void store(void* to, Value value) {
    store_vector(to, round_to_bfloats(value.even, value.odd));
  }
  STRAIT_INLINE static Value sum(Value a, Value b) {
    return {Single::sum(a.even, b.even), Single::sum(a.odd, b.odd)};
  }
  STRAIT_INLINE static Value prod(Value a, Value b) {
    return {Single::prod(a.even, b.even), Single::prod(a.odd, b.odd)};
  }
  STRAIT_INLINE static Value max(Value a, Value b) {
    return {Single::max(a.even, b.even), Single::max(a.odd, b.odd)};
  }
  STRAIT_INLINE static Value min(Value a, Value b) {
    return {Single::min(a.even, b.even), Single::min(a.odd, b.odd)};
  }
};

struct Float16 : NarrowFloat<uint16_t> {
  STRAIT_INLINE static Floats load(const void* from) {
    return decode_half(load_vector<Shorts>(from));
  }
  STRAIT_INLINE static void store(void* to, Floats value) { store_vector(to, encode_half(value)); }
};

struct Float8e4m3 : NarrowFloat<uint8_t> {
  STRAIT_INLINE static Floats load(const void* from) {
    return decode_e4m3(load_vector<Bytes>(from));
  }
  STRAIT_INLINE static void store(void* to, Floats value) {
    store_vector(to, narrow_to_bytes(encode<E4m3>(value)));
  }
};

struct Float8e5m2 : NarrowFloat<uint8_t> {
  STRAIT_INLINE static Floats load(const void* from) {
    return decode_e5m2(load_vector<Bytes>(from));
  }
  STRAIT_INLINE static void store(void* to, Floats value) {
    store_vector(to, narrow_to_bytes(encode<E5m2>(value)));
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
