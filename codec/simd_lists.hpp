// The kernels that count exponents and that move what is not in a window, or not zero, to a list
// and back, for vectors without byte-wise compression. Included by target_*.cpp after simd.hpp,
// which says the rest.
#include "codec/simd.hpp"

namespace strait::codec::STRAIT_CODEC_TARGET {
namespace {

// Smallest byte, by halves of 16-bit lanes.
inline uint32_t least_of(Vector bytes) {
  const hn::Repartition<uint16_t, decltype(kBytes)> words;
  const auto pairs = hn::BitCast(words, bytes);
  const auto least = hn::Min(hn::And(pairs, hn::Set(words, 0xFF)), hn::ShiftRight<8>(pairs));
  return hn::GetLane(hn::MinOfLanes(words, least));
}

void count(const uint8_t* bytes, size_t, ExponentCounts& counts) {
  const hn::Repartition<uint64_t, decltype(kBytes)> words;
  Vector low = all(255), high = all(0), zeros = all(0);
  auto sum = hn::Zero(words);
  for (size_t i = 0; i < kBlockValues; i += kLanes) {
    const Vector v = load_bytes(bytes + i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
    zeros = hn::Sub(zeros, hn::VecFromMask(kBytes, hn::Eq(v, all(0))));
    sum = hn::Add(sum, hn::SumsOf8(v));
  }
  counts.min = least_of(low);
  counts.max = 255 - least_of(hn::Not(high));
  counts.zeros = sum_of(zeros);
  const uint32_t rest = static_cast<uint32_t>(kBlockValues) - counts.zeros;
  const auto total = static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(words, sum)));
  const int top = (rest == 0 ? 0 : static_cast<int>(total / rest)) + kHistogramAboveMean;
  counts.top = top < static_cast<int>(counts.max) ? top : static_cast<int>(counts.max);

  for (int k = 0; k < kHistogramBins; k += 4) {
    Vector found[4] = {all(0), all(0), all(0), all(0)};
    const Vector first = all(static_cast<uint8_t>(counts.top - k));
    for (size_t i = 0; i < kBlockValues; i += kLanes) {
      const Vector v = hn::Sub(first, load_bytes(bytes + i));
      found[0] = hn::Sub(found[0], hn::VecFromMask(kBytes, hn::Eq(v, all(0))));
      found[1] = hn::Sub(found[1], hn::VecFromMask(kBytes, hn::Eq(v, all(1))));
      found[2] = hn::Sub(found[2], hn::VecFromMask(kBytes, hn::Eq(v, all(2))));
      found[3] = hn::Sub(found[3], hn::VecFromMask(kBytes, hn::Eq(v, all(3))));
    }
    for (int j = 0; j < 4; ++j) counts.bins[k + j] = counts.top >= k + j ? sum_of(found[j]) : 0;
  }
}

inline uint64_t load_word(const uint8_t* at) {
  uint64_t word;
  __builtin_memcpy(&word, at, 8);
  return word;
}

inline void store_word(uint8_t* at, uint64_t word) {
  __builtin_memcpy(at, &word, 8);
}

#if defined(__BMI2__)
inline constexpr uint64_t kEachByte = 0x0101010101010101;

// Appends the bytes of a word whose bits are set.
inline uint8_t* append(uint64_t word, uint64_t bits, uint8_t* list) {
  store_word(list, _pext_u64(word, _pdep_u64(bits, kEachByte) * 255));
  return list + __builtin_popcountll(bits);
}

// Puts the list's next bytes where bits are set, the word's own elsewhere.
inline uint64_t placed(uint64_t word, uint64_t bits, const uint8_t* list, size_t list_bytes) {
  uint64_t next = 0;
  if (list_bytes >= 8)
    next = load_word(list);
  else
    for (size_t i = 0; i < list_bytes; ++i) next |= uint64_t{list[i]} << (8 * i);
  const uint64_t bytes = _pdep_u64(bits, kEachByte) * 255;
  return (word & ~bytes) | _pdep_u64(next, bytes);
}
#else
inline uint8_t* append(uint64_t word, uint64_t bits, uint8_t* list) {
  for (; bits != 0; bits &= bits - 1)
    *list++ = static_cast<uint8_t>(word >> (8 * __builtin_ctzll(bits)));
  return list;
}

inline uint64_t placed(uint64_t word, uint64_t bits, const uint8_t* list, size_t list_bytes) {
  for (; bits != 0 && list_bytes > 0; bits &= bits - 1, --list_bytes) {
    const int shift = 8 * __builtin_ctzll(bits);
    word = (word & ~(uint64_t{255} << shift)) | uint64_t{*list++} << shift;
  }
  return word;
}
#endif

// Takes from the list for the eight bytes at `at`, where bits are set.
inline void place(uint8_t* at, uint64_t bits, uint8_t mask, const uint8_t* list, size_t list_bytes,
                  size_t& taken) {
  const size_t left = taken < list_bytes ? list_bytes - taken : 0;
  const uint64_t reduced = uint64_t{mask} * 0x0101010101010101;
  store_word(at, placed(load_word(at), bits, list + taken, left) & reduced);
  taken += static_cast<size_t>(__builtin_popcountll(bits));
}

size_t pack_window(const uint8_t* bytes, size_t, size_t width, uint8_t top, uint8_t* planes,
                   uint8_t* list) {
  constexpr size_t kStride = kBlockValues / 8;
  const Vector escape = all(static_cast<uint8_t>((1u << width) - 1));
  uint8_t escapes[kStride];
  for (size_t i = 0; i < kBlockValues; i += kLanes) {
    const Vector code = hn::Min(hn::Sub(all(top), load_bytes(bytes + i)), escape);
    for (size_t p = 0; p < width; ++p)
      hn::StoreMaskBits(kBytes, hn::TestBit(code, all(static_cast<uint8_t>(1u << p))),
                        planes + p * kStride + i / 8);
    hn::StoreMaskBits(kBytes, hn::Eq(code, escape), escapes + i / 8);
  }
  uint8_t* end = list;
  for (size_t i = 0; i < kStride; ++i)
    if (escapes[i] != 0) end = append(load_word(bytes + 8 * i), escapes[i], end);
  return static_cast<size_t>(end - list);
}

size_t unpack_window(const uint8_t* planes, size_t, size_t width, uint8_t top, uint8_t mask,
                     const uint8_t* list, size_t list_bytes, uint8_t* bytes) {
  constexpr size_t kStride = kBlockValues / 8;
  for (size_t i = 0; i < kBlockValues; i += kLanes)
    store_bytes(hn::And(hn::Sub(all(top), unpacked(planes, i, width)), all(mask)), bytes + i);
  size_t taken = 0;
  for (size_t i = 0; i < kStride; i += 8) {
    uint64_t escapes = ~uint64_t{0};
    for (size_t p = 0; p < width; ++p) escapes &= load_word(planes + p * kStride + i);
    for (; escapes != 0;) {
      const size_t group = static_cast<size_t>(__builtin_ctzll(escapes)) / 8;
      const uint64_t bits = (escapes >> (8 * group)) & 255;
      place(bytes + 8 * (i + group), bits, mask, list, list_bytes, taken);
      escapes &= ~(uint64_t{255} << (8 * group));
    }
  }
  return taken;
}

size_t pack_nonzero(const uint8_t* bytes, size_t, uint8_t* bits, uint8_t* list) {
  for (size_t i = 0; i < kBlockValues; i += kLanes)
    hn::StoreMaskBits(kBytes, hn::Ne(load_bytes(bytes + i), all(0)), bits + i / 8);
  uint8_t* end = list;
  for (size_t i = 0; i < kBlockValues / 8; ++i)
    end = append(load_word(bytes + 8 * i), bits[i], end);
  return static_cast<size_t>(end - list);
}

size_t unpack_nonzero(const uint8_t* bits, size_t, const uint8_t* list, size_t list_bytes,
                      uint8_t* bytes) {
  size_t taken = 0;
  for (size_t i = 0; i < kBlockValues / 8; ++i) {
    const size_t left = taken < list_bytes ? list_bytes - taken : 0;
    store_word(bytes + 8 * i, placed(0, bits[i], list + taken, left));
    taken += static_cast<size_t>(__builtin_popcountll(bits[i]));
  }
  return taken;
}

}  // namespace

extern const Kernels kKernels = {STRAIT_CODEC_TARGET_NAME,
                                 split,
                                 join,
                                 count,
                                 count_zeros,
                                 pack_bits,
                                 unpack_bits,
                                 pack_window,
                                 unpack_window,
                                 pack_nonzero,
                                 unpack_nonzero};

}  // namespace strait::codec::STRAIT_CODEC_TARGET
