// The kernels that count exponents and that move what is not in a window, or not zero, to a list
// and back, for vectors without byte-wise compression. Included by target_*.cpp after simd.hpp,
// which says the rest.
#pragma once

#include "codec/choose_tables.hpp"
#include "codec/lane_ends.hpp"
#include "codec/simd.hpp"
#include "codec/symbols.hpp"

namespace strait::codec::STRAIT_CODEC_TARGET {
namespace {

inline uint32_t sum_of(Vector bytes) {
  const hn::Repartition<uint64_t, decltype(kBytes)> words;
  return static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(words, hn::SumsOf8(bytes))));
}

size_t count_zeros(const uint8_t* bytes, size_t n, uint8_t mask) {
  Vector zeros = all(0);
  for (size_t i = 0; i < n; i += kWidth) {
    const Vector v = hn::And(load_bytes(bytes + i), all(mask));
    zeros = hn::Sub(zeros, hn::VecFromMask(kBytes, hn::Eq(v, all(0))));
  }
  return sum_of(zeros);
}

uint32_t sum(const uint8_t* bytes, size_t) {
  const hn::Repartition<uint64_t, decltype(kBytes)> words;
  auto total = hn::Zero(words);
  for (size_t i = 0; i < kBlockValues; i += kWidth)
    total = hn::Add(total, hn::SumsOf8(load_bytes(bytes + i)));
  return static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(words, total)));
}

// Smallest byte, by halves of 16-bit lanes.
inline uint32_t least_of(Vector bytes) {
  const hn::Repartition<uint16_t, decltype(kBytes)> words;
  const auto pairs = hn::BitCast(words, bytes);
  const auto least = hn::Min(hn::And(pairs, hn::Set(words, 0xFF)), hn::ShiftRight<8>(pairs));
  return hn::GetLane(hn::MinOfLanes(words, least));
}

ExponentRange range(const uint8_t* bytes, size_t) {
  Vector low = all(255), high = all(0), zeros = all(0);
  for (size_t i = 0; i < kBlockValues; i += kWidth) {
    const Vector v = load_bytes(bytes + i);
    low = hn::Min(low, v);
    high = hn::Max(high, v);
    zeros = hn::Sub(zeros, hn::VecFromMask(kBytes, hn::Eq(v, all(0))));
  }
  return {least_of(low), 255 - least_of(hn::Not(high)), sum_of(zeros), sum(bytes, kBlockValues)};
}

void count(const uint8_t* bytes, size_t n, ExponentBins& bins) {
  for (int k = 0; k < kBins; k += 5) {
    Vector found[5] = {all(0), all(0), all(0), all(0), all(0)};
    const Vector first = all(static_cast<uint8_t>(bins.top - k));
    for (size_t i = 0; i < n; i += kWidth) {
      const Vector v = hn::Sub(first, load_bytes(bytes + i));
      found[0] = hn::Sub(found[0], hn::VecFromMask(kBytes, hn::Eq(v, all(0))));
      found[1] = hn::Sub(found[1], hn::VecFromMask(kBytes, hn::Eq(v, all(1))));
      found[2] = hn::Sub(found[2], hn::VecFromMask(kBytes, hn::Eq(v, all(2))));
      found[3] = hn::Sub(found[3], hn::VecFromMask(kBytes, hn::Eq(v, all(3))));
      found[4] = hn::Sub(found[4], hn::VecFromMask(kBytes, hn::Eq(v, all(4))));
    }
    for (int j = 0; j < 5; ++j) bins.count[k + j] = static_cast<uint16_t>(sum_of(found[j]));
  }
}

void count_sample(const uint8_t* start, const uint8_t* middle, ExponentBins& bins) {
  alignas(64) uint8_t chosen[2 * kSampleValues];
  const hn::Repartition<uint64_t, decltype(kBytes)> words;
  auto total = hn::Zero(words);
  for (size_t i = 0; i < kSampleValues; i += kWidth) {
    const Vector a = load_bytes(start + i), b = load_bytes(middle + i);
    store_bytes(a, chosen + i);
    store_bytes(b, chosen + kSampleValues + i);
    total = hn::Add(total, hn::Add(hn::SumsOf8(a), hn::SumsOf8(b)));
  }
  const auto sum_of_all = hn::GetLane(hn::SumOfLanes(words, total));
  bins.top = static_cast<int>(sum_of_all / sizeof chosen) + kAboveMean;
  count(chosen, sizeof chosen, bins);
}

void find_windows(const ExponentBins& bins, size_t n, WindowPlaces& places) {
  uint16_t before[kBins + 1] = {};
  for (int k = 0; k < kBins; ++k) before[k + 1] = static_cast<uint16_t>(before[k] + bins.count[k]);
  places.counted = before[kBins];
  for (int width = 1; width <= kSearchedWidths; ++width) {
    const int span = (1 << width) - 1;
    // The place is below the count, so that the least number is the first place of the least count.
    uint32_t least = ~0u;
    for (int first = 0; first + span <= kBins; ++first) {
      const uint32_t outside = static_cast<uint32_t>(n) + before[first] - before[first + span];
      const uint32_t candidate = outside << 8 | static_cast<uint32_t>(first);
      least = candidate < least ? candidate : least;
    }
    places.outside[width - 1] = static_cast<uint16_t>(least >> 8);
    places.first[width - 1] = static_cast<uint8_t>(least);
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

// Calls visit(group, bits) for each group of eight bytes of which some bit is set, in order.
template <class Visit>
inline void for_each_group(const uint8_t* bits, const Visit& visit) {
  uint8_t words[8] = {};
  for (size_t i = 0; i < kBlockValues / 8; i += kWidth)
    hn::StoreMaskBits(kBytes, hn::Ne(load_bytes(bits + i), all(0)), words + i / 8);
  for (uint64_t groups = load_word(words); groups != 0; groups &= groups - 1) {
    const auto group = static_cast<size_t>(__builtin_ctzll(groups));
    visit(group, bits[group]);
  }
}

// The bits of a plane: bit p of each code, moved to the sign.
inline void store_plane(Vector codes, size_t p, uint8_t* plane) {
  const hn::Repartition<uint16_t, decltype(kBytes)> words;
  const auto moved = hn::ShiftLeftSame(hn::BitCast(words, codes), static_cast<int>(7 - p));
  const hn::Repartition<int8_t, decltype(kBytes)> signs;
  hn::StoreMaskBits(signs, hn::MaskFromVec(hn::BroadcastSignBit(hn::BitCast(signs, moved))), plane);
}

size_t pack_window(const uint8_t* bytes, size_t, size_t width, uint8_t top, uint8_t* planes,
                   uint8_t* list) {
  const Vector escape = all(static_cast<uint8_t>((1u << width) - 1));
  alignas(64) uint8_t escapes[kPlaneBytes];
  for (size_t i = 0; i < kBlockValues; i += kWidth) {
    const Vector code = hn::Min(hn::Sub(all(top), load_bytes(bytes + i)), escape);
    for (size_t p = 0; p < width; ++p) store_plane(code, p, planes + p * kPlaneBytes + i / 8);
    hn::StoreMaskBits(kBytes, hn::Eq(code, escape), escapes + i / 8);
  }
  uint8_t* end = list;
  for_each_group(escapes, [&](size_t group, uint64_t bits) {
    end = append(load_word(bytes + 8 * group), bits, end);
  });
  return static_cast<size_t>(end - list);
}

size_t unpack_window(const uint8_t* planes, size_t, size_t width, uint8_t top, uint8_t mask,
                     const uint8_t* list, size_t list_bytes, uint8_t* bytes) {
  for (size_t i = 0; i < kBlockValues; i += kWidth)
    store_bytes(hn::And(hn::Sub(all(top), unpacked(planes, i, width)), all(mask)), bytes + i);
  alignas(64) uint8_t escapes[kPlaneBytes];
  for (size_t i = 0; i < kPlaneBytes; i += kWidth) {
    Vector every = all(255);
    for (size_t p = 0; p < width; ++p)
      every = hn::And(every, load_bytes(planes + p * kPlaneBytes + i));
    store_bytes(every, escapes + i);
  }
  size_t taken = 0;
  for_each_group(escapes, [&](size_t group, uint64_t bits) {
    place(bytes + 8 * group, bits, mask, list, list_bytes, taken);
  });
  return taken;
}

// Sixteen bytes, looked up by the low four bits of every byte of a vector.
inline Vector looked_up(const uint8_t* table, Vector index) {
  return hn::TableLookupBytes(hn::LoadDup128(kBytes, table), index);
}

size_t to_symbols(const ExponentTable& table, const uint8_t* bytes, uint8_t top, uint8_t* symbols,
                  uint8_t* list) {
  alignas(64) uint8_t escapes[kPlaneBytes];
  for (size_t i = 0; i < kBlockValues; i += kWidth) {
    const Vector v = load_bytes(bytes + i);
    const Vector near = looked_up(table.near, hn::Min(hn::Sub(all(top), v), all(kSymbols - 1)));
    const Vector symbol = hn::IfThenElse(hn::Eq(v, all(0)), all(table.zero), near);
    store_bytes(symbol, symbols + i);
    hn::StoreMaskBits(kBytes, hn::Eq(symbol, all(kSymbolEscape)), escapes + i / 8);
  }
  uint8_t* end = list;
  for_each_group(escapes, [&](size_t group, uint64_t bits) {
    end = append(load_word(bytes + 8 * group), bits, end);
  });
  return static_cast<size_t>(end - list);
}

size_t from_symbols(const uint8_t* symbols, uint8_t top, uint8_t mask, const uint8_t* list,
                    size_t list_bytes, uint8_t* bytes) {
  alignas(64) uint8_t escapes[kPlaneBytes];
  for (size_t i = 0; i < kBlockValues; i += kWidth) {
    const Vector symbol = load_bytes(symbols + i);
    const Vector near = hn::And(hn::Sub(all(top), symbol), all(mask));
    store_bytes(hn::IfThenElse(hn::Eq(symbol, all(kSymbolZero)), all(0), near), bytes + i);
    hn::StoreMaskBits(kBytes, hn::Eq(symbol, all(kSymbolEscape)), escapes + i / 8);
  }
  size_t taken = 0;
  for_each_group(escapes, [&](size_t group, uint64_t bits) {
    place(bytes + 8 * group, bits, mask, list, list_bytes, taken);
  });
  return taken;
}

size_t pack_nonzero(const uint8_t* bytes, size_t, uint8_t* bits, uint8_t* list) {
  for (size_t i = 0; i < kBlockValues; i += kWidth)
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
}  // namespace strait::codec::STRAIT_CODEC_TARGET

#include "codec/guess.hpp"
#include "codec/halves.hpp"

namespace strait::codec::STRAIT_CODEC_TARGET {

extern const Kernels kKernels = {
    .name = STRAIT_CODEC_TARGET_NAME,
    .split = split,
    .join = join,
    .sum = sum,
    .range = range,
    .count = count,
    .find_windows = find_windows,
    .guess_window = guess_window,
    .count_zeros = count_zeros,
    .pack_bits = pack_bits,
    .unpack_bits = unpack_bits,
    .pack_window = pack_window,
    .unpack_window = unpack_window,
    .pack_nonzero = pack_nonzero,
    .unpack_nonzero = unpack_nonzero,
    .pack_halves = pack_halves,
    .unpack_halves = unpack_halves,
    .cheapest_table = cheapest_table,
    .survey = survey,
    .choose_tables = choose_tables,
    .to_symbols = to_symbols,
    .from_symbols = from_symbols,
    .to_pieces = to_pieces,
    .append_lanes = append_lanes,
    .read_symbols = read_symbols,
    .read_low = nullptr,
    .encode_usual = nullptr,
    .decode_usual = nullptr,
};

}  // namespace strait::codec::STRAIT_CODEC_TARGET
