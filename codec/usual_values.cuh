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

  // Whether all four values of every lane's first row are one and the same each; the block is not a
  // constant where they are not.
  static __device__ __forceinline__ bool are_equal(const Values& values) {
    uint32_t differs = values.word[0][0] ^ values.word[0][1];
    if constexpr (Cut::kBytes == 2)
      differs |= values.word[0][0] ^ __byte_perm(values.word[0][0], 0, 0x1032);
    else
      differs |= (values.word[0][0] ^ values.word[0][2]) | (values.word[0][0] ^ values.word[0][3]);
    return !__any_sync(kAllLanes, differs != 0);
  }

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
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) below[r][pair] = inverted(upper_of(values, r, pair));
  }

  static __device__ __forceinline__ uint32_t plane_row(const Values& values, int p, int r) {
    if constexpr (Cut::kBytes == 2) {
      const uint32_t low = __byte_perm(values.word[r][0], values.word[r][1], 0x6420);
      if constexpr (Cut::kBits != 0) return low;
      return choose_bits(kFlags, __byte_perm(values.word[r][0], values.word[r][1], 0x7531), low);
    } else {
      if (p < 2) {
        const uint32_t pick = p == 0 ? 0x0040 : 0x0051;
        return __byte_perm(__byte_perm(values.word[r][0], values.word[r][1], pick),
                           __byte_perm(values.word[r][2], values.word[r][3], pick), 0x5410);
      }
      const uint32_t first = upper_of(values, r, 0), second = upper_of(values, r, 1);
      return choose_bits(kFlags, __byte_perm(first, second, 0x7531),
                         __byte_perm(first, second, 0x6420));
    }
  }
  // Half: the two bits above the byte plane, and the sign, of four values.
  static __device__ __forceinline__ uint32_t bits_row(const Values& values, int r) {
    const uint32_t high = __byte_perm(values.word[r][0], values.word[r][1], 0x7531);
    return (high & each_byte(3)) | (high >> 5 & each_byte(4));
  }

  // As choose_plane: few of the sampled bytes, of which half the lanes have one row's first half
  // and another's, are zero.
  static __device__ __forceinline__ bool seems_whole(uint32_t start, uint32_t middle) {
    const uint32_t nonzero = at_least(start, 1) | at_least(middle, 1) >> 1;
    const auto count = static_cast<uint32_t>(__popc(nonzero));
    constexpr auto kEnough = static_cast<uint32_t>(2 * kSampleValues - kSampledZeros);
    return warp_sum(device::lane_id() < 16 ? count : 0) > kEnough;
  }
  static __device__ __forceinline__ bool seem_whole(const Values& values) {
    bool whole = true;
#pragma unroll
    for (int p = 0; p < Cut::kPlanes; ++p)
      whole = whole && seems_whole(plane_row(values, p, 0), plane_row(values, p, kBlockRows / 2));
    return whole;
  }

  // The byte planes and the bit planes of mantissas. Returns where this lane's bits are in the
  // first of four bit planes behind the byte planes.
  static __device__ __forceinline__ std::byte* put_planes(const PlaneSelectors& mine,
                                                          const Values& values, std::byte* planes) {
    auto* const rows = reinterpret_cast<uint32_t*>(planes + 4 * device::lane_id());
#pragma unroll
    for (int p = 0; p < Cut::kPlanes; ++p)
#pragma unroll
      for (int r = 0; r < kBlockRowsInt; ++r)
        rows[(p * kBlockRowsInt + r) * static_cast<int>(kWarpLanes)] = plane_row(values, p, r);
    std::byte* const bits =
        planes + Cut::kPlanes * kBlockValues + kPlaneBytes * mine.plane() + mine.byte();
    if constexpr (Cut::kBits != 0) {
      uint32_t extra[2];
#pragma unroll
      for (int pair = 0; pair < 2; ++pair)
        extra[pair] = bits_row(values, 2 * pair) | bits_row(values, 2 * pair + 1) << 4;
      store(gather_planes(mine, extra[0], extra[1]), bits, mine.plane() < Cut::kBits);
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
