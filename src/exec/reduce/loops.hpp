// The loops of the reductions and the table that finds one. Private to the target_*.cpp files, as
// lanes.hpp. A tail shorter than a vector passes through a padded buffer and the same code, so that
// every element is computed alike.
#pragma once

#include "exec/reduce/kernel.hpp"
#include "exec/reduce/numbers.hpp"

namespace strait::reduce::STRAIT_TARGET {
namespace {

// The processor's own prefetching ends at a page, and sums that are fed block by block out of a
// codec start a new one every time.
constexpr size_t kPrefetchBytes = 4096;

template <class N, Form form>
inline constexpr size_t kElementBytes = form == Form::kWide ? sizeof(float) : N::kNarrowBytes;

template <class N, Form form>
STRAIT_INLINE typename N::Value read(const void* from) {
  if constexpr (form == Form::kWide)
    return N::load_wide(from);
  else
    return N::load(from);
}

template <class N, Form form>
STRAIT_INLINE void write(void* to, typename N::Value value) {
  if constexpr (form == Form::kWide)
    N::store_wide(to, value);
  else
    N::store(to, value);
}

// A scaled value is the same whether it is used here or sent: rounded to the type it travels as.
template <class N, Form form>
STRAIT_INLINE typename N::Value scale(typename N::Value value, typename N::Value factor) {
  const typename N::Value product = N::prod(value, factor);
  if constexpr (N::kIsFloat && N::kNarrowBytes < sizeof(float) && form == Form::kNarrow) {
    alignas(64) char rounded[N::kLanes * N::kNarrowBytes];
    N::store(rounded, product);
    return N::load(rounded);
  } else {
    return product;
  }
}

template <class N, Operation operation>
STRAIT_INLINE typename N::Value apply(typename N::Value a, typename N::Value b) {
  if constexpr (operation == Operation::kSum) return N::sum(a, b);
  if constexpr (operation == Operation::kProd) return N::prod(a, b);
  if constexpr (operation == Operation::kMax) return N::max(a, b);
  if constexpr (operation == Operation::kMin) return N::min(a, b);
}

// Which loop of a number type: everything a KernelKey says but the type.
template <Operation kOperation, Form kOut, Form kFirst, Form kSecond, bool kScaled>
struct Shape {
  static constexpr Operation operation = kOperation;
  static constexpr Form out = kOut;
  static constexpr Form first = kFirst;
  static constexpr Form second = kSecond;
  static constexpr bool scaled = kScaled;
  static constexpr bool binary = kOperation != Operation::kConvert;
};

template <class N, class S>
struct PairLoop {
  using Value = typename N::Value;
  static constexpr size_t kOutBytes = kElementBytes<N, S::out>;
  static constexpr size_t kFirstBytes = kElementBytes<N, S::first>;
  static constexpr size_t kSecondBytes = kElementBytes<N, S::second>;

  Value first_factor;
  Value second_factor;
  bool first_scaled;
  bool second_scaled;

  STRAIT_INLINE void step(char* out, const char* first, const char* second) const {
    Value value = read<N, S::first>(first);
    if constexpr (S::scaled)
      if (first_scaled) value = scale<N, S::first>(value, first_factor);
    if constexpr (S::binary) {
      Value other = read<N, S::second>(second);
      if constexpr (S::scaled)
        if (second_scaled) other = scale<N, S::second>(other, second_factor);
      value = apply<N, S::operation>(value, other);
    }
    write<N, S::out>(out, value);
  }

  void tail(char* out, const char* first, const char* second, size_t count) const {
    alignas(64) char padded_first[N::kLanes * kFirstBytes] = {};
    alignas(64) char padded_second[N::kLanes * kSecondBytes] = {};
    alignas(64) char padded_out[N::kLanes * kOutBytes];
    __builtin_memcpy(padded_first, first, count * kFirstBytes);
    if constexpr (S::binary) __builtin_memcpy(padded_second, second, count * kSecondBytes);
    step(padded_out, padded_first, padded_second);
    __builtin_memcpy(out, padded_out, count * kOutBytes);
  }

  static void run(void* out_data, const Source& a, const Source& b, size_t count) {
    const PairLoop loop{N::factor(a), N::factor(b), a.scaled, b.scaled};
    auto* out = static_cast<char*>(out_data);
    auto* first = static_cast<const char*>(a.data);
    auto* second = static_cast<const char*>(b.data);
    size_t left = count;
    for (; left >= N::kLanes; left -= N::kLanes) {
      __builtin_prefetch(first + kPrefetchBytes);
      loop.step(out, first, second);
      out += N::kLanes * kOutBytes;
      first += N::kLanes * kFirstBytes;
      if constexpr (S::binary) second += N::kLanes * kSecondBytes;
    }
    if (left > 0) loop.tail(out, first, second, left);
  }
};

template <class N, Operation operation, Form out_form, bool scaled>
struct ManyLoop {
  using Value = typename N::Value;
  static constexpr size_t kOutBytes = kElementBytes<N, out_form>;
  static constexpr size_t kInBytes = N::kNarrowBytes;
  static constexpr size_t kVectors = 4;  // at once, to share the walk over the sources

  STRAIT_INLINE static const char* start_of(const Source& source, size_t offset) {
    return static_cast<const char*>(source.data) + offset * kInBytes;
  }
  STRAIT_INLINE static Value take(const Source& source, const char* data) {
    const Value value = N::load(data);
    if constexpr (scaled)
      if (source.scaled) return scale<N, Form::kNarrow>(value, N::factor(source));
    return value;
  }

  template <size_t vectors>
  STRAIT_INLINE static void step(char* out, const Source* sources, size_t source_count,
                                 size_t offset) {
    constexpr size_t kStride = N::kLanes * kInBytes;
    const char* data = start_of(sources[0], offset);
    Value sum[vectors];
    for (size_t v = 0; v < vectors; ++v) sum[v] = take(sources[0], data + v * kStride);
    for (size_t s = 1; s < source_count; ++s) {
      data = start_of(sources[s], offset);
      for (size_t v = 0; v < vectors; ++v)
        sum[v] = apply<N, operation>(sum[v], take(sources[s], data + v * kStride));
    }
    for (size_t v = 0; v < vectors; ++v)
      write<N, out_form>(out + (offset + v * N::kLanes) * kOutBytes, sum[v]);
  }

  static void tail(char* out, const Source* sources, size_t source_count, size_t offset,
                   size_t count) {
    alignas(64) char padded[N::kLanes * kInBytes] = {};
    alignas(64) char padded_out[N::kLanes * kOutBytes];
    __builtin_memcpy(padded, start_of(sources[0], offset), count * kInBytes);
    Value sum = take(sources[0], padded);
    for (size_t s = 1; s < source_count; ++s) {
      __builtin_memcpy(padded, start_of(sources[s], offset), count * kInBytes);
      sum = apply<N, operation>(sum, take(sources[s], padded));
    }
    write<N, out_form>(padded_out, sum);
    __builtin_memcpy(out + offset * kOutBytes, padded_out, count * kOutBytes);
  }

  static void run(void* out_data, const Source* sources, size_t source_count, size_t count) {
    auto* out = static_cast<char*>(out_data);
    size_t offset = 0;
    for (; offset + kVectors * N::kLanes <= count; offset += kVectors * N::kLanes)
      step<kVectors>(out, sources, source_count, offset);
    for (; offset + N::kLanes <= count; offset += N::kLanes)
      step<1>(out, sources, source_count, offset);
    if (offset < count) tail(out, sources, source_count, offset, count - offset);
  }
};

// The quotient of 8- and 32-bit integers is exact in the next wider float: it misses a whole number
// by more than an error of rounding. 64-bit integers have no wider float.
template <class T>
void divide(void* values, uint64_t divisor, size_t count) {
  auto* bytes = static_cast<char*>(values);
  const double as_float = static_cast<double>(divisor);
  for (size_t i = 0; i < count; ++i, bytes += sizeof(T)) {
    T value;
    __builtin_memcpy(&value, bytes, sizeof(T));
    if constexpr (sizeof(T) < 8) {
      value = static_cast<T>(static_cast<double>(value) / as_float);
    } else {
      const bool negative = value < 0;
      const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : value;
      const uint64_t quotient = magnitude / divisor;
      value = static_cast<T>(negative ? 0 - quotient : quotient);
    }
    __builtin_memcpy(bytes, &value, sizeof(T));
  }
}

}  // namespace
}  // namespace strait::reduce::STRAIT_TARGET
