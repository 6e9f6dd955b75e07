// What a usual block's writers do with its values, four of a lane's row at a time, of which the
// upper 16 bits stand in two words: cut exponents out, and the other planes. Device code; every
// lane of a warp calls together; three instructions for a lane's plane word of bfloat16.
#pragma once

#include "codec/plane_choose.cuh"
#include "codec/usual.cuh"
#include "codec/values.cuh"

namespace strait::codec::gpu {

template <class Cut>
struct UsualValues {
  using Values = Block<Cut::kBytes>;
  static constexpr uint32_t kPlaneBytes = kBlockValues / 8;

  // The upper halves of two values.
  static __device__ __forceinline__ uint32_t upper_of(const Values& values, int r, int pair) {
    if constexpr (Cut::kBytes == 2)
      return values.word[r][pair];
    else
      return __byte_perm(values.word[r][2 * pair], values.word[r][2 * pair + 1], 0x7632);
  }
  // 255 - exponent in the upper bytes of halves, anything in the lower ones.
  static __device__ __forceinline__ uint32_t inverted(uint32_t upper) {
    if constexpr (Cut::kExponentBits == 8) {
      return multiply_add(upper, 0u - 2, ~0u);
    } else {
      constexpr int kDown = kUsualShift<Cut> - 8;
      return ~(upper >> kDown & kUsualExponent<Cut> >> kDown);
    }
  }
  static __device__ __forceinline__ uint32_t upper_bytes(const uint32_t (&halves)[2]) {
    return __byte_perm(halves[0], halves[1], 0x7531);
  }
  static __device__ __forceinline__ void invert(const Values& values,
                                                uint32_t (&below)[kBlockRows][2]) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r)
      if constexpr (Cut::kBytes == 1) {
        const uint32_t row =
            ~(values.word[r][0] >> Cut::kStart & each_byte((1u << Cut::kExponentBits) - 1));
        below[r][0] = __byte_perm(row, 0, 0x1404);
        below[r][1] = __byte_perm(row, 0, 0x3424);
      } else {
        below[r][0] = inverted(upper_of(values, r, 0));
        below[r][1] = inverted(upper_of(values, r, 1));
      }
  }

  static __device__ __forceinline__ uint32_t plane_row(const Values& values, int p, int r) {
    if constexpr (Cut::kBytes == 2) {
      const uint32_t low = __byte_perm(values.word[r][0], values.word[r][1], 0x6420);
      if constexpr (Cut::kBits != 0) return low;
      return choose_bits(kFlags, __byte_perm(values.word[r][0], values.word[r][1], 0x7531), low);
    } else {
      if (p < 2)
        return __byte_perm(__byte_perm(values.word[r][0], values.word[r][1], 0x5410),
                           __byte_perm(values.word[r][2], values.word[r][3], 0x5410),
                           p == 0 ? 0x6420 : 0x7531);
      const uint32_t first = upper_of(values, r, 0), second = upper_of(values, r, 1);
      return choose_bits(kFlags, __byte_perm(first, second, 0x7531),
                         __byte_perm(first, second, 0x6420));
    }
  }
  // The bits above the byte plane and the sign, of four values of two rows, a nibble each.
  static __device__ __forceinline__ uint32_t bits_rows(const Values& values, int pair) {
    const int r = 2 * pair;
    if constexpr (Cut::kBytes == 1) {
      constexpr uint32_t kBelow = (1u << Cut::kStart) - 1;
      const uint32_t first = values.word[r][0], second = values.word[r + 1][0];
      const uint32_t low = choose_bits(each_byte(kBelow), first, first >> (7 - Cut::kStart));
      const uint32_t high =
          choose_bits(each_byte(kBelow << 4), second << 4, second >> (3 - Cut::kStart));
      return choose_bits(kLowNibbles, low, high) & each_byte((2 * kBelow + 1) * 17);
    } else {
      uint32_t rows[2];
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const uint32_t high = __byte_perm(values.word[r + k][0], values.word[r + k][1], 0x7531);
        rows[k] = (high & each_byte(3)) | (high >> 5 & each_byte(4));
      }
      return rows[0] | rows[1] << 4;
    }
  }

  // How many bytes of the sample are not zero, times 128: of a plane as choose_plane sees it.
  static __device__ __forceinline__ uint32_t whole_of(const Values& values, int p) {
    return sum_of_bytes(
        at_least(sampled(plane_row(values, p, 0), plane_row(values, p, kBlockRows / 2)), 1), 0);
  }
  static constexpr uint32_t kEnough = kGuessedFrom - static_cast<uint32_t>(kSampledZeros);
  // Of the planes below the highest, whether few bytes are zero.
  static __device__ __forceinline__ bool others_seem_whole(const Values& values) {
    if constexpr (Cut::kPlanes < 2) return true;
    static_assert(Cut::kPlanes <= 3);
    const uint32_t sums = warp_sum(whole_of(values, 0) | whole_of(values, Cut::kPlanes - 2) << 16);
    return (sums & 0xFFFF) >> 7 > kEnough && sums >> 23 > kEnough;
  }

  // The byte planes and the bit planes of mantissas, so many bytes into the tile. Returns where
  // this lane's bits are in the first of four bit planes behind them.
  static __device__ __forceinline__ std::byte* put_planes(const PlaneLane& mine,
                                                          const Values& values, std::byte* tile,
                                                          uint32_t place) {
    auto* const rows = reinterpret_cast<uint32_t*>(tile + (place + 4 * device::lane_id()));
#pragma unroll
    for (int p = 0; p < Cut::kPlanes; ++p)
#pragma unroll
      for (int r = 0; r < kBlockRowsInt; ++r)
        rows[(p * kBlockRowsInt + r) * static_cast<int>(kWarpLanes)] = plane_row(values, p, r);
    constexpr auto kBitsAt = static_cast<uint32_t>(Cut::kPlanes * kBlockValues);
    std::byte* const bits = tile + (place + kBitsAt + kPlaneBytes * mine.plane + mine.byte);
    if constexpr (Cut::kBits != 0) {
      store(gather_planes(mine, bits_rows(values, 0), bits_rows(values, 1)), bits,
            mine.plane < Cut::kBits);
    }
    return bits;
  }

  static __device__ __forceinline__ void store(const PlaneWords& words, std::byte* at, bool mine) {
    if (!mine) return;
    reinterpret_cast<uint32_t*>(at)[0] = words.row[0];
    reinterpret_cast<uint32_t*>(at)[4] = words.row[1];
  }
};

}  // namespace strait::codec::gpu
