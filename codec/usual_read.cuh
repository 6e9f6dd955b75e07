// Reads a usual block (usual.cuh) with two values to a word all the way: a pair's exponents are one
// product away from its codes, and meet sign and mantissa in one instruction. Damaged bytes give an
// error or other values, never an access outside of the block's planes and list. Device code; every
// lane of a warp calls together; 11 instructions for a lane's value of bfloat16.
#pragma once

#include "codec/usual.cuh"
#include "codec/values.cuh"

namespace strait::codec::gpu {

template <class Cut>
class UsualReader {
 public:
  // Whether a block is usual by its record, a field of which is each argument (low: of float).
  static __device__ __forceinline__ bool takes_window(uint32_t kind, uint32_t low) {
    return kind - (kUsualKind + kMethodWindow + 1) < kUsualWidths && low == kUsualLow<Cut>;
  }
  // The same of one whose exponents are in the tile's streams, with no list.
  static __device__ __forceinline__ bool takes_table(uint32_t kind, uint32_t low, uint32_t list) {
    return (kind & 0xC0) == kUsualKind && low == kUsualLow<Cut> && list == 0;
  }

  // The values as they stand in memory. Returns 0 where the block is sound, the same in all lanes.
  static __device__ __forceinline__ uint32_t read_window(const PlaneSelectors& mine, uint32_t width,
                                                         uint32_t top, const std::byte* planes,
                                                         const std::byte* list, uint32_t list_bytes,
                                                         Block<Cut::kBytes>& values) {
    uint32_t plane[Cut::kPlanes][kBlockRows], extra[2] = {}, codes[2], upper[2 * kBlockRows];
    load_planes(mine, planes, plane, extra);
    const std::byte* const at = bits_of(mine, planes) + Cut::kBits * kPlaneBytes;
    scatter_planes(mine, load(at, mine.plane() < width), codes[0], codes[1]);
    join(codes, extra, top, plane[Cut::kPlanes - 1], upper);
    const uint32_t fault = put_escapes(codes, (1u << width) - 1, top, list, list_bytes, upper);
    finish(plane, upper, values);
    return fault;
  }

  // The same of symbols from the streams, a byte each, of which none stands for something else.
  static __device__ __forceinline__ void read_symbols(const PlaneSelectors& mine,
                                                      const uint32_t (&symbols)[kBlockRows],
                                                      uint32_t top, const std::byte* planes,
                                                      Block<Cut::kBytes>& values) {
    uint32_t plane[Cut::kPlanes][kBlockRows], extra[2] = {}, upper[2 * kBlockRows];
    load_planes(mine, planes, plane, extra);
    const uint32_t codes[2] = {symbols[0] | symbols[1] << 4, symbols[2] | symbols[3] << 4};
    join(codes, extra, top, plane[Cut::kPlanes - 1], upper);
    finish(plane, upper, values);
  }

 private:
  static constexpr uint32_t kPlaneBytes = kBlockValues / 8;
  static constexpr int kShift = kUsualShift<Cut>;
  static constexpr uint32_t kExponent = kUsualExponent<Cut>;

  static __device__ __forceinline__ PlaneWords load(const std::byte* at, bool there) {
    PlaneWords words = {};
    if (there) {
      words.row[0] = reinterpret_cast<const uint32_t*>(at)[0];
      words.row[1] = reinterpret_cast<const uint32_t*>(at)[4];
    }
    return words;
  }

  // Where this lane's bits are in the first of four bit planes.
  static __device__ __forceinline__ const std::byte* bits_of(const PlaneSelectors& mine,
                                                             const std::byte* planes) {
    return planes + Cut::kPlanes * kBlockValues + kPlaneBytes * mine.plane() + mine.byte();
  }

  static __device__ __forceinline__ void load_planes(const PlaneSelectors& mine,
                                                     const std::byte* planes,
                                                     uint32_t (&plane)[Cut::kPlanes][kBlockRows],
                                                     uint32_t (&extra)[2]) {
    const auto* const rows = reinterpret_cast<const uint32_t*>(planes + 4 * device::lane_id());
#pragma unroll
    for (int p = 0; p < Cut::kPlanes; ++p)
#pragma unroll
      for (int r = 0; r < kBlockRowsInt; ++r)
        plane[p][r] = rows[(p * kBlockRowsInt + r) * static_cast<int>(kWarpLanes)];
    if constexpr (Cut::kBits != 0)
      scatter_planes(mine, load(bits_of(mine, planes), mine.plane() < Cut::kBits), extra[0],
                     extra[1]);
  }

  // The upper halves of all values, in pairs.
  static __device__ __forceinline__ void join(const uint32_t (&codes)[2],
                                              const uint32_t (&extra)[2], uint32_t top,
                                              const uint32_t (&plane)[kBlockRows],
                                              uint32_t (&upper)[2 * kBlockRows]) {
    // A bit above the exponents keeps pairs apart where a code exceeds the top.
    const uint32_t start = each_half(0x8000u | (top << kShift & 0x7FFF));
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r)
      join_row(codes[r / 2], extra[r / 2], start, plane[r], 4 * (r % 2), &upper[2 * r]);
  }

  // The lower halves or none join them.
  static __device__ __forceinline__ void finish(const uint32_t (&plane)[Cut::kPlanes][kBlockRows],
                                                const uint32_t (&upper)[2 * kBlockRows],
                                                Block<Cut::kBytes>& values) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      if constexpr (Cut::kBytes == 2) {
        values.word[r][0] = upper[2 * r];
        values.word[r][1] = upper[2 * r + 1];
      } else {
        const uint32_t lower[2] = {__byte_perm(plane[0][r], plane[1][r], 0x5140),
                                   __byte_perm(plane[0][r], plane[1][r], 0x7362)};
#pragma unroll
        for (int k = 0; k < 4; ++k)
          values.word[r][k] =
              __byte_perm(lower[k / 2], upper[2 * r + k / 2], k % 2 == 0 ? 0x5410 : 0x7632);
      }
    }
  }

  // One row of them; its codes are in the nibbles that start at this bit.
  static __device__ __forceinline__ void join_row(uint32_t codes, uint32_t extra, uint32_t start,
                                                  uint32_t plane, int nibble, uint32_t* pairs) {
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const uint32_t spread = pair == 0 ? 0x4140 : 0x4342;
      const uint32_t code = __byte_perm(codes, 0, spread) & each_half(15u << nibble);
      const uint32_t exponents = multiply_add(code, 0u - (1u << (kShift - nibble)), start);
      uint32_t others;
      if constexpr (Cut::kBits == 0) {
        others = __byte_perm(plane, 0, pair == 0 ? 0x1100 : 0x3322);
      } else {
        // Bits 0 and 1 of the three are below the exponent, bit 2 is the sign.
        const uint32_t bit = __byte_perm(extra, 0, spread) & each_half(7u << nibble);
        others = (multiply_add(bit, 0x2100u >> nibble, 0) & each_half(0x8300)) |
                 __byte_perm(plane, 0, spread);
      }
      pairs[pair] = choose_bits(kExponent, exponents, others);
    }
  }

  // Puts the list's exponents where the escapes are. Returns 0 where it has as many.
  static __device__ __forceinline__ uint32_t put_escapes(const uint32_t (&codes)[2],
                                                         uint32_t escape, uint32_t top,
                                                         const std::byte* list, uint32_t list_bytes,
                                                         uint32_t (&upper)[2 * kBlockRows]) {
    const uint32_t rows01 = escapes_in(codes[0], escape), rows23 = escapes_in(codes[1], escape);
    const uint32_t flags = join_escapes(rows01, rows23);
    if (!__any_sync(kAllLanes, flags != 0)) return list_bytes;
    const EscapePlaces places(rows01, rows23);
    if (places.total != list_bytes) return 1;
    const uint32_t wrong = top - escape;
    places.each(flags, [&](uint32_t row, uint32_t k, uint32_t at) {
      const uint32_t differs =
          ((static_cast<uint32_t>(list[at]) ^ wrong) & ((1u << Cut::kExponentBits) - 1))
          << (kShift + 16 * (k & 1));
      const uint32_t pair = 2 * row + (k >> 1);
#pragma unroll
      for (uint32_t i = 0; i < 2 * kBlockRows; ++i) flip_where_equal(pair, i, differs, upper[i]);
    });
    return 0;
  }
};

}  // namespace strait::codec::gpu
