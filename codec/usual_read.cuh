// Reads a usual block (usual.cuh) with two values to a word all the way: a pair's exponents are one
// product away from its codes, and meet sign and mantissa in one instruction; four values of fp8
// likewise. Damaged bytes give an error or other values, never an access outside of the block's
// planes and list. Device code; every lane of a warp calls together; 11 instructions for a lane's
// value of bfloat16.
#pragma once

#include "codec/shared_place.cuh"
#include "codec/usual.cuh"
#include "codec/values.cuh"

namespace strait::codec::gpu {

template <class Cut>
class UsualReader {
 public:
  // Whether a block is usual by its record, a field of which is each argument (low: of float).
  static __device__ __forceinline__ bool takes_window(uint32_t kind, uint32_t low) {
    return kind - (kUsualKind<Cut> + kMethodWindow + 1) < most_width() && low == kUsualLow<Cut>;
  }
  // The same of one whose exponents are in the tile's streams, with no list.
  static __device__ __forceinline__ bool takes_table(uint32_t kind, uint32_t low, uint32_t list) {
    return (kind & 0xC0) == kUsualKind<Cut> && low == kUsualLow<Cut> && list == 0;
  }

  // The values as they stand in memory; `room` is for sixteen bytes of this lane's. Returns 0 where
  // the block is sound, the same in all lanes.
  static __device__ __forceinline__ uint32_t read_window(const PlaneLane& mine, SharedPlace room,
                                                         uint32_t width, uint32_t top,
                                                         const std::byte* planes,
                                                         const std::byte* list, uint32_t list_bytes,
                                                         Block<Cut::kBytes>& values) {
    Parts parts;
    load_planes(mine, planes, parts);
    // With the planes, and not when it is needed.
    uint32_t early = 0;
    if (device::lane_id() < list_bytes) early = static_cast<uint32_t>(list[device::lane_id()]);
    const std::byte* const at = bits_of(mine, planes) + Cut::kBits * kPlaneBytes;
    uint32_t codes[2];
    scatter_planes(mine, load(at, mine.plane < width), codes[0], codes[1]);
    uint32_t below[kBlockRows] = {codes[0] & kLowNibbles, codes[0] >> 4 & kLowNibbles,
                                  codes[1] & kLowNibbles, codes[1] >> 4 & kLowNibbles};
    Escapes escapes(codes, (1u << width) - 1);
    uint32_t fault = list_bytes;
    if (__any_sync(kAllLanes, escapes.flags != 0)) {
      escapes.rank();
      fault ^= escapes.total;
      if (fault == 0) put_escapes(escapes, room, top, list, early, below);
    }
    join(parts, below, top, values);
    return fault;
  }

  // The same of symbols from the streams, a byte each, of which none stands for something else.
  static __device__ __forceinline__ void read_symbols(const PlaneLane& mine,
                                                      const uint32_t (&symbols)[kBlockRows],
                                                      uint32_t top, const std::byte* planes,
                                                      Block<Cut::kBytes>& values) {
    Parts parts;
    load_planes(mine, planes, parts);
    join(parts, symbols, top, values);
  }

 private:
  static constexpr uint32_t kPlaneBytes = kBlockValues / 8;
  static constexpr int kShift = kUsualShift<Cut>;
  static constexpr uint32_t kExponentMask = (1u << Cut::kExponentBits) - 1;

  // Exponents as they are have no escape.
  static constexpr uint32_t most_width() {
    return Cut::kExponentBits > kUsualWidths ? kUsualWidths : Cut::kExponentBits - 1;
  }

  // Byte planes, and the bits above them, two rows to a word.
  struct Parts {
    uint32_t plane[Cut::kPlanes == 0 ? 1 : Cut::kPlanes][kBlockRows];
    uint32_t extra[2];
  };

  static __device__ __forceinline__ PlaneWords load(const std::byte* at, bool there) {
    PlaneWords words = {};
    if (there) {
      words.row[0] = reinterpret_cast<const uint32_t*>(at)[0];
      words.row[1] = reinterpret_cast<const uint32_t*>(at)[4];
    }
    return words;
  }

  // Where this lane's bits are in the first of four bit planes.
  static __device__ __forceinline__ const std::byte* bits_of(const PlaneLane& mine,
                                                             const std::byte* planes) {
    return planes + (Cut::kPlanes * kBlockValues + kPlaneBytes * mine.plane + mine.byte);
  }

  static __device__ __forceinline__ void load_planes(const PlaneLane& mine, const std::byte* planes,
                                                     Parts& parts) {
    const auto* const rows = reinterpret_cast<const uint32_t*>(planes + 4 * device::lane_id());
#pragma unroll
    for (int p = 0; p < Cut::kPlanes; ++p)
#pragma unroll
      for (int r = 0; r < kBlockRowsInt; ++r)
        parts.plane[p][r] = rows[(p * kBlockRowsInt + r) * static_cast<int>(kWarpLanes)];
    if constexpr (Cut::kBits != 0)
      scatter_planes(mine, load(bits_of(mine, planes), mine.plane < Cut::kBits), parts.extra[0],
                     parts.extra[1]);
  }

  // Puts the list's exponents where the escapes are, as what they are below the top; each lane has
  // one of the first.
  static __device__ __forceinline__ void put_escapes(const Escapes& escapes, SharedPlace room,
                                                     uint32_t top, const std::byte* list,
                                                     uint32_t early,
                                                     uint32_t (&below)[kBlockRows]) {
    room.put_words(below);
    const auto put = [&](uint32_t value, uint32_t exponent) {
      const uint32_t of = top - exponent;
      room.put_byte(value, kExponentMask == 255 ? of : of & kExponentMask);
    };
    if (escapes.total <= kWarpLanes)
      escapes.each_in_step([&](uint32_t value, uint32_t at, bool has) {
        const uint32_t exponent = from_lane(early, at & 31);
        if (has) put(value, exponent);
      });
    else
      escapes.each(
          [&](uint32_t value, uint32_t at) { put(value, static_cast<uint32_t>(list[at])); });
    room.words(below);
  }

  // Puts the values together: exponents are so much below the top, a byte each, and no code of
  // damaged bytes is more than the type's bits hold.
  static __device__ __forceinline__ void join(const Parts& parts,
                                              const uint32_t (&below)[kBlockRows], uint32_t top,
                                              Block<Cut::kBytes>& values) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      if constexpr (Cut::kBytes == 1) {
        values.word[r][0] = join_row(parts.extra[r / 2], r % 2, below[r], top);
      } else {
        uint32_t upper[2];
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) upper[pair] = join_pair(parts, r, pair, below[r], top);
        finish(parts, r, upper, values.word[r]);
      }
    }
  }

  // Four values of fp8. A bit above the exponents keeps bytes apart where a code exceeds the top.
  static __device__ __forceinline__ uint32_t join_row(uint32_t extra, int odd, uint32_t below,
                                                      uint32_t top) {
    constexpr int kStart = Cut::kStart;
    const uint32_t start = each_byte(0x80u | (top & kExponentMask) << kStart);
    const uint32_t exponents = multiply_add(below, 0u - (1u << kStart), start);
    // The sign is the bit above the mantissa's.
    constexpr uint32_t kMantissa = each_byte((1u << kStart) - 1);
    const uint32_t others = odd != 0 ? choose_bits(kMantissa, extra >> 4, extra << (3 - kStart))
                                     : choose_bits(kMantissa, extra, extra << (7 - kStart));
    return choose_bits(each_byte(kExponentMask << kStart), exponents, others);
  }

  // The upper halves of two values.
  static __device__ __forceinline__ uint32_t join_pair(const Parts& parts, int r, int pair,
                                                       uint32_t below, uint32_t top) {
    const uint32_t spread = pair == 0 ? 0x4140 : 0x4342;
    const uint32_t start = each_half(0x8000u | (top << kShift & 0x7FFF));
    const uint32_t exponents =
        multiply_add(__byte_perm(below, 0, spread), 0u - (1u << kShift), start);
    const uint32_t plane = parts.plane[Cut::kPlanes - 1][r];
    uint32_t others;
    if constexpr (Cut::kBits == 0) {
      others = __byte_perm(plane, 0, pair == 0 ? 0x1100 : 0x3322);
    } else {
      // Bits 0 and 1 of the three are below the exponent, bit 2 is the sign.
      const int nibble = 4 * (r % 2);
      const uint32_t bit = __byte_perm(parts.extra[r / 2], 0, spread) & each_half(7u << nibble);
      others = (multiply_add(bit, 0x2100u >> nibble, 0) & each_half(0x8300)) |
               __byte_perm(plane, 0, spread);
    }
    return choose_bits(kUsualExponent<Cut>, exponents, others);
  }

  // The lower halves or none join them.
  static __device__ __forceinline__ void finish(const Parts& parts, int r,
                                                const uint32_t (&upper)[2],
                                                uint32_t (&row)[Cut::kBytes]) {
    if constexpr (Cut::kBytes == 2) {
      row[0] = upper[0];
      row[1] = upper[1];
    } else {
      const uint32_t lower[2] = {__byte_perm(parts.plane[0][r], parts.plane[1][r], 0x5140),
                                 __byte_perm(parts.plane[0][r], parts.plane[1][r], 0x7362)};
#pragma unroll
      for (int k = 0; k < 4; ++k)
        row[k] = __byte_perm(lower[k / 2], upper[k / 2], k % 2 == 0 ? 0x5410 : 0x7632);
    }
  }
};

}  // namespace strait::codec::gpu
