// Writes a block as it was decided: its record, its planes, its list, its part of the streams.
// Device code; every lane of the warp that holds the block calls together; some hundred
// instructions.
#pragma once

#include "codec/bit_planes.cuh"
#include "codec/block_choose.cuh"
#include "codec/lane_streams.cuh"

namespace strait::codec::gpu {

template <bool kFull>
__device__ __forceinline__ void put_full_plane(const uint32_t (&rows)[kBlockRows], uint32_t n,
                                               std::byte* plane) {
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) {
    std::byte* const at = plane + static_cast<uint32_t>(r) * kRowValues + 4 * device::lane_id();
    if constexpr (kFull) {
      *reinterpret_cast<uint32_t*>(at) = rows[r];
    } else {
      const uint32_t count = values_in_row(n, r);
      for (uint32_t k = 0; k < count; ++k) at[k] = static_cast<std::byte>(rows[r] >> (8 * k));
    }
  }
}

// The halves of bytes that are not zero, low or high ones, two to a byte of the list. `room` is
// this warp's. Returns the bytes.
__device__ __forceinline__ uint32_t put_halves(const uint32_t (&flags)[kBlockRows],
                                               const uint32_t (&halves)[kBlockRows],
                                               std::byte* list, uint8_t* room) {
  const Ranks ranks = rank(flags);
  const uint32_t lane = device::lane_id();
  each_flagged(ranks, flags, [&](int r, int k, uint32_t at) {
    room[at] = static_cast<uint8_t>(halves[r] >> (8 * k));
  });
  const uint32_t total = ranks.total();
  if (lane == 0) room[total] = 0;
  __syncwarp();
  const uint32_t bytes = (total + 1) / 2;
  for (uint32_t b = lane; b < bytes; b += kWarpLanes)
    list[b] = static_cast<std::byte>(room[2 * b] | room[2 * b + 1] << 4);
  __syncwarp();
  return bytes;
}

// A plane in its mode; both pointers move on.
template <bool kFull>
__device__ __forceinline__ void put_plane(PlaneMode mode, const uint32_t (&rows)[kBlockRows],
                                          uint32_t n, uint8_t* room, std::byte*& planes,
                                          std::byte*& list) {
  if (mode == PlaneMode::kZero) return;
  if (mode == PlaneMode::kFull) {
    put_full_plane<kFull>(rows, n, planes);
    planes += n;
    return;
  }
  uint32_t codes[kBlockRows], flags[kBlockRows], halves[kBlockRows];
  if (mode == PlaneMode::kSparse) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      flags[r] = at_least(rows[r], 1);
      codes[r] = flags[r] >> 7;
    }
    store_planes<kFull>(codes, 1, n, planes);
    planes += (n + 7) / 8;
    const Ranks ranks = rank(flags);
    put_flagged(ranks, flags, rows, list);
    list += ranks.total();
    return;
  }
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r)
    codes[r] = at_least(rows[r] & 0x0F0F0F0Fu, 1) >> 7 | at_least(rows[r] & 0xF0F0F0F0u, 1) >> 6;
  store_planes<kFull>(codes, 2, n, planes);
  planes += 2 * ((n + 7) / 8);
  for (uint32_t high = 0; high < 2; ++high) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      halves[r] = rows[r] >> (4 * high) & 0x0F0F0F0Fu;
      flags[r] = at_least(halves[r], 1);
    }
    list += put_halves(flags, halves, list, room);
  }
}

template <class Cut>
__device__ __forceinline__ void put_escapes(const Block<Cut::kBytes>& columns,
                                            const BlockCode& block, std::byte* list) {
  const ExponentRows e = exponents_of<Cut>(columns);
  few_flagged(block.escape_ranks, block.escaped, [&](uint32_t r, uint32_t k, uint32_t at) {
    if constexpr (Cut::kWide) {
      list[2 * at] = static_cast<std::byte>(pick_byte(e.low, r, k));
      list[2 * at + 1] = static_cast<std::byte>(pick_byte(e.high, r, k));
    } else {
      list[at] = static_cast<std::byte>(pick_byte(e.low, r, k));
    }
  });
}

// Planes of the exponents' codes, if the method has any.
template <bool kFull, class Cut>
__device__ __forceinline__ void put_codes(const Block<Cut::kBytes>& columns, const BlockCode& block,
                                          uint32_t n, std::byte* planes) {
  const uint32_t width = block.record.method() - kMethodWindow;
  if (!Cut::kWide || width < 8) return store_planes<kFull>(block.code, width, n, planes);
  store_planes<kFull>(block.code, 8, n, planes);
  store_planes<kFull>(exponents_of<Cut>(columns).high, width - 8, n, planes + 8 * ((n + 7) / 8));
}

// Where a block's parts go.
struct BlockPlace {
  std::byte* planes;
  std::byte* list;
  uint8_t* room;  // of the warp, for halves
};

template <bool kFull, class Cut>
__device__ __forceinline__ void put_block(const Block<Cut::kBytes>& columns, const BlockCode& block,
                                          uint32_t n, BlockPlace place) {
  const uint8_t method = block.record.method();
  const uint32_t lane = device::lane_id();
  if (method == kMethodZero) return;
  if (method == kMethodConstant) {
#pragma unroll
    for (int b = 0; b < Cut::kBytes; ++b)
      if (lane == 0) place.list[b] = static_cast<std::byte>(columns.word[0][b]);
    return;
  }
  std::byte* const list_end = place.list + block.list_bytes;
  if (block.escape_bytes != 0) put_escapes<Cut>(columns, block, place.list);
  place.list += block.escape_bytes;
  const bool low_table = block.record.has_low_table(Cut::shape());
#pragma unroll
  for (int p = 0; p < Cut::kPlanes; ++p) {
    if (low_table && p < 2) continue;
    uint32_t rows[kBlockRows];
    plane_rows<Cut>(columns, p, rows);
    put_plane<kFull>(block.record.plane(static_cast<size_t>(p), Cut::kPlanes), rows, n, place.room,
                     place.planes, place.list);
  }
  if constexpr (Cut::kBits != 0) {
    uint32_t bits[kBlockRows];
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) bits[r] = Cut::bits(columns.word[r]);
    store_planes<kFull>(bits, Cut::kBits, n, place.planes);
    place.planes += Cut::kBits * ((n + 7) / 8);
  }
  if (method < kMethodTable) put_codes<kFull, Cut>(columns, block, n, place.planes);
  if (place.list + lane < list_end) place.list[lane] = std::byte{0};
}

__device__ __forceinline__ uint32_t stream_bits_of(const BlockCode& block) {
  return sum_of_bytes(block.lengths, 0);
}

// This lane's codes of a block, at this position of its stream.
__device__ __forceinline__ void append_exponents(const BlockCode& block, uint32_t* lane_words,
                                                 uint32_t position) {
  LaneAppender appender(lane_words, position);
#pragma unroll
  for (uint32_t r = 0; r < kBlockRows; ++r)
    appender.append(block.code[r], byte_of(block.lengths, r));
  appender.finish();
}

template <class Cut>
__device__ __forceinline__ void append_low_halves(const Block<Cut::kBytes>& columns,
                                                  const uint16_t* codes, uint32_t* lane_words,
                                                  uint32_t position) {
  LaneAppender appender(lane_words, position);
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r)
    for (uint32_t k = 0; k < 4; ++k) {
      const uint32_t half = byte_of(columns.word[r][0], k) | byte_of(columns.word[r][1], k) << 8;
      const uint32_t zeros = static_cast<uint32_t>(__ffs(static_cast<int>(half | 0x10000)) - 1);
      const uint32_t code = codes[zeros], length = code >> 8;
      appender.append((code & 255) | half >> (zeros + 1) << length,
                      length + (zeros < 15 ? 15 - zeros : 0));
    }
  appender.finish();
}

}  // namespace strait::codec::gpu
