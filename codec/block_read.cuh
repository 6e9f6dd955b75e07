// Reads a block of a tile into registers. Damaged bytes give an error or other values, never an
// access outside of the block's planes and list and the tile's streams. Device code; every lane of
// a warp calls together; some hundred instructions, so that usual blocks go by usual_read.cuh.
#pragma once

#include "codec/bit_planes.cuh"
#include "codec/flagged.cuh"
#include "codec/lane_streams.cuh"
#include "codec/record.hpp"
#include "codec/values.cuh"

namespace strait::codec::gpu {

// The rest of a block's list. The same in all lanes.
struct ListReader {
  const std::byte* at;
  uint32_t left;
  bool wrong = false;  // it ended too early

  __device__ __forceinline__ void take(uint32_t bytes) {
    wrong = wrong || bytes > left;
    bytes = min(bytes, left);
    at += bytes;
    left -= bytes;
  }
};

// Puts the list's exponents where the flags are.
template <class Cut>
__device__ __forceinline__ void read_escapes(const uint32_t (&flags)[kBlockRows], ListReader& list,
                                             ExponentRows& e) {
  const uint32_t packed = pack_flags(flags);
  if (!__any_sync(kAllLanes, packed != 0)) return;
  const Ranks ranks = rank(flags);
  if constexpr (!Cut::kWide) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) e.low[r] &= ~mask_of(flags[r]);
    few_flagged(ranks, packed, [&](uint32_t r, uint32_t k, uint32_t at) {
      put_byte(e.low, r, k, list_byte(list.at, at, list.left) & Cut::kLowMask);
    });
    list.take(ranks.total());
  } else {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      e.low[r] &= ~mask_of(flags[r]);
      e.high[r] &= ~mask_of(flags[r]);
    }
    bool beyond = false;
    few_flagged(ranks, packed, [&](uint32_t r, uint32_t k, uint32_t at) {
      const uint32_t high = list_byte(list.at, 2 * at + 1, list.left);
      beyond = beyond || high >> (Cut::kExponentBits - 8) != 0;
      put_byte(e.low, r, k, list_byte(list.at, 2 * at, list.left));
      put_byte(e.high, r, k, high);
    });
    list.take(2 * ranks.total());
    list.wrong = list.wrong || __any_sync(kAllLanes, beyond);
  }
}

// top - code, modulo 2^E. Codes of double may exceed a byte.
template <class Cut>
__device__ __forceinline__ void below_top(uint32_t top, const ExponentRows& codes,
                                          ExponentRows& e) {
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) {
    if constexpr (!Cut::kWide) {
      e.low[r] = subtract_bytes(each_byte(top & 255), codes.low[r]) & each_byte(Cut::kLowMask);
    } else {
      e.low[r] = e.high[r] = 0;
      for (int k = 0; k < 4; ++k) {
        const uint32_t exponent = (top - codes.whole(r, k)) & ((1u << Cut::kExponentBits) - 1);
        e.low[r] |= (exponent & 255) << (8 * k);
        e.high[r] |= exponent >> 8 << (8 * k);
      }
    }
  }
}

// The flags of those of a lane's values in row r that belong to a block of n.
template <bool kFull>
__device__ __forceinline__ uint32_t valid_flags(uint32_t n, int r) {
  if constexpr (kFull) return kFlags;
  const uint32_t count = values_in_row(n, r);
  return count >= 4 ? kFlags : kFlags & ((1u << (8 * count)) - 1);
}

// Through a window; `planes` are the codes'.
template <bool kFull, class Cut>
__device__ __forceinline__ void read_window(const BlockRecord& record, const std::byte* planes,
                                            uint32_t n, ListReader& list, ExponentRows& e) {
  const uint32_t width = record.method() - kMethodWindow;
  ExponentRows codes = {};
  load_planes<kFull>(planes, min(width, 8u), n, codes.low);
  if (Cut::kWide && width > 8)
    load_planes<kFull>(planes + 8 * ((n + 7) / 8), width - 8, n, codes.high);
  if (width == Cut::kExponentBits) {
    e = codes;
    return;
  }
  below_top<Cut>(record.top, codes, e);
  if (width == 0) return;
  // The escape has all bits set; no code exceeds it.
  const uint32_t escape = (1u << width) - 1;
  uint32_t flags[kBlockRows];
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) {
    flags[r] = at_least(codes.low[r], min(escape, 128u)) & valid_flags<kFull>(n, r);
    if (Cut::kWide && width > 7)
      flags[r] &= ~at_least(codes.low[r] ^ each_byte(255), 1) &
                  ~at_least(codes.high[r] ^ each_byte(escape >> 8), 1);
  }
  read_escapes<Cut>(flags, list, e);
}

// Of symbols out of the tile's exponent streams.
template <class Cut>
__device__ __forceinline__ void read_table(const BlockRecord& record, const ExponentRows& symbols,
                                           ListReader& list, ExponentRows& e) {
  uint32_t escaped[kBlockRows];
  below_top<Cut>(record.top, symbols, e);
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) {
    const uint32_t coded = ~mask_of(at_least(symbols.low[r], kSymbolZero));
    e.low[r] &= coded;
    if constexpr (Cut::kWide) e.high[r] &= coded;
    escaped[r] = at_least(symbols.low[r], kSymbolEscape);
  }
  read_escapes<Cut>(escaped, list, e);
}

// The halves, low or high, that the list has of a plane.
__device__ __forceinline__ void read_halves(const uint32_t (&flags)[kBlockRows], uint32_t shift,
                                            ListReader& list, uint32_t (&rows)[kBlockRows]) {
  const Ranks ranks = rank(flags);
  each_flagged(ranks, flags, [&](int r, int k, uint32_t at) {
    const uint32_t half = list_byte(list.at, at / 2, list.left) >> (4 * (at & 1)) & 15;
    rows[r] |= half << (8 * k) << shift;
  });
  list.take((ranks.total() + 1) / 2);
}

// A byte plane in its mode; `planes` moves on.
template <bool kFull>
__device__ __forceinline__ void read_plane(PlaneMode mode, uint32_t n, const std::byte*& planes,
                                           ListReader& list, uint32_t (&rows)[kBlockRows]) {
  const uint32_t bits = (n + 7) / 8;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) rows[r] = 0;
  if (mode == PlaneMode::kZero) return;
  if (mode == PlaneMode::kFull) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      const std::byte* const at =
          planes + static_cast<uint32_t>(r) * kRowValues + 4 * device::lane_id();
      if constexpr (kFull) {
        rows[r] = *reinterpret_cast<const uint32_t*>(at);
      } else {
        const uint32_t count = values_in_row(n, r);
        for (uint32_t k = 0; k < count; ++k) rows[r] |= static_cast<uint32_t>(at[k]) << (8 * k);
      }
    }
    planes += n;
    return;
  }
  uint32_t codes[kBlockRows], low[kBlockRows], high[kBlockRows];
  const uint32_t width = mode == PlaneMode::kSparse ? 1 : 2;
  load_planes<kFull>(planes, width, n, codes);
  planes += width * bits;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) {
    low[r] = codes[r] << 7 & valid_flags<kFull>(n, r);
    high[r] = codes[r] << 6 & valid_flags<kFull>(n, r);
  }
  if (mode == PlaneMode::kSparse) {
    const Ranks ranks = rank(low);
    get_flagged(ranks, low, list.at, list.left, rows);
    list.take(ranks.total());
  } else {
    read_halves(low, 0, list, rows);
    read_halves(high, 4, list, rows);
  }
}

// Where a block's parts are, and how long its list is.
struct PartPlaces {
  BlockRecord record;
  const std::byte* planes;
  const std::byte* list;
  uint32_t list_bytes;
};

template <class Cut>
__device__ __forceinline__ void fill(const PartPlaces& parts, Block<Cut::kBytes>& columns) {
  const bool constant = parts.record.method() == kMethodConstant;
#pragma unroll
  for (int b = 0; b < Cut::kBytes; ++b) {
    const uint32_t byte = constant ? each_byte(static_cast<uint32_t>(parts.list[b])) : 0;
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) columns.word[r][b] = byte;
  }
}

// Reads a block into columns. `symbols` are its exponents' where a table codes them. Returns
// whether all is well, the same in all lanes; what only shows at the tile's end is not told here.
template <bool kFull, class Cut>
__device__ __forceinline__ bool read_block(const DecodeTables& tables, const PartPlaces& parts,
                                           uint32_t n, const ExponentRows& symbols, LaneReader& low,
                                           Block<Cut::kBytes>& columns) {
  const BlockRecord& record = parts.record;
  const uint8_t method = record.method();
  if (method < kMethodWindow) {
    fill<Cut>(parts, columns);
    return true;
  }
  const uint32_t bits = (n + 7) / 8;
  ListReader list = {parts.list, parts.list_bytes};
  const std::byte* planes = parts.planes;
  ExponentRows e;
  if (kFull && method >= kMethodTable) {
    read_table<Cut>(record, symbols, list, e);
  } else {
    const auto all = static_cast<uint32_t>(plane_bytes_of(Cut::shape(), record, n));
    const uint32_t width = method - kMethodWindow;
    read_window<kFull, Cut>(record, planes + all - width * bits, n, list, e);
  }
  const bool low_table = record.has_low_table(Cut::shape());
  if constexpr (kFull && Cut::kBytes == 4) {
    if (low_table) {
      const uint8_t* const codes = tables.low[record.low - kLowTable];
#pragma unroll
      for (int r = 0; r < kBlockRowsInt; ++r)
        read_low_halves(codes, low, columns.word[r][0], columns.word[r][1]);
    }
  }
  uint32_t top[kBlockRows];
#pragma unroll
  for (int p = 0; p < Cut::kPlanes; ++p) {
    if (low_table && p < 2) continue;
    read_plane<kFull>(record.plane(static_cast<size_t>(p), Cut::kPlanes), n, planes, list, top);
    if (p < Cut::kColumn) {
#pragma unroll
      for (int r = 0; r < kBlockRowsInt; ++r) columns.word[r][p] = top[r];
    }
  }
  if constexpr (Cut::kBits != 0) load_planes<kFull>(planes, Cut::kBits, n, top);
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) Cut::join(columns.word[r], e.low[r], e.high[r], top[r]);
  const uint32_t unit = parts.list_bytes == record.list ? 1 : kSparseListUnit;
  return !list.wrong && list.left < unit;
}

}  // namespace strait::codec::gpu
