// Chooses and writes a usual block (usual.cuh) with two values to a word: what a code is falls out
// of one addition that stops at the escape, two values at a time. Decides as block_choose.cuh does,
// or leaves the block to it. Device code; every lane of a warp calls together; 20 instructions for
// a lane's value of bfloat16.
#pragma once

#include "codec/counts.cuh"
#include "codec/plane_choose.cuh"
#include "codec/usual.cuh"

namespace strait::codec::gpu {

template <class Cut>
class UsualWriter {
 public:
  // The values as they stand in memory. Returns whether the block is a usual one; the same in all
  // lanes, as is what the members without a comment say then.
  __device__ __forceinline__ bool choose(const EncodeTables& tables,
                                         const Block<Cut::kBytes>& values) {
    uint32_t differs = values.word[0][0] ^ values.word[0][1];
    if constexpr (Cut::kBytes == 2)
      differs |= values.word[0][0] ^ __byte_perm(values.word[0][0], 0, 0x1032);
    else
      differs |= (values.word[0][0] ^ values.word[0][2]) | (values.word[0][0] ^ values.word[0][3]);
    if (!__any_sync(kAllLanes, differs != 0)) return false;
    uint32_t below[kBlockRows][2];
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r)
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) below[r][pair] = inverted(upper_of(values, r, pair));
    const GuessedWindow guess = guess_window(tables, Cut::kExponentBits, upper_bytes(below[0]),
                                             upper_bytes(below[kBlockRows / 2]));
    if (guess.width == 0) return false;
    width = guess.width;
    top = guess.top;
    code_exponents(below);
    if (places.total > kBlockValues / 8) return false;
    bool whole = true;
#pragma unroll
    for (int p = 0; p < Cut::kPlanes; ++p)
      whole = whole && seems_whole(plane_row(values, p, 0), plane_row(values, p, kBlockRows / 2));
    return whole;
  }

  __device__ __forceinline__ BlockRecord record() const {
    return {static_cast<uint16_t>(top & 255),
            static_cast<uint8_t>(kUsualKind + kMethodWindow + width),
            static_cast<uint8_t>(places.total), static_cast<uint16_t>(kUsualLow<Cut>)};
  }
  __device__ __forceinline__ uint32_t plane_bytes() const {
    return Cut::kPlanes * kBlockValues + (Cut::kBits + width) * kPlaneBytes;
  }
  __device__ __forceinline__ uint32_t list_bytes() const {
    return places.total;
  }

  __device__ __forceinline__ void put(const EncodeTables& tables, const Block<Cut::kBytes>& values,
                                      std::byte* planes, std::byte* list) const {
    const uint32_t lane = device::lane_id();
    if (flags_ != 0) put_escapes(values, list);
    auto* const rows = reinterpret_cast<uint32_t*>(planes + 4 * lane);
#pragma unroll
    for (int p = 0; p < Cut::kPlanes; ++p)
#pragma unroll
      for (int r = 0; r < kBlockRowsInt; ++r)
        rows[(p * kBlockRowsInt + r) * static_cast<int>(kWarpLanes)] = plane_row(values, p, r);
    const PlaneSelectors mine = tables.selectors[lane];
    std::byte* const bits =
        planes + Cut::kPlanes * kBlockValues + kPlaneBytes * mine.plane() + mine.byte();
    if constexpr (Cut::kBits != 0) {
      uint32_t extra[2];
#pragma unroll
      for (int pair = 0; pair < 2; ++pair)
        extra[pair] = bits_row(values, 2 * pair) | bits_row(values, 2 * pair + 1) << 4;
      store(gather_planes(mine, extra[0], extra[1]), bits, mine.plane() < Cut::kBits);
    }
    store(gather_planes(mine, codes_[0], codes_[1]), bits + Cut::kBits * kPlaneBytes,
          mine.plane() < width);
  }

  uint32_t width, top;
  EscapePlaces places;  // its `first` is this lane's

 private:
  static constexpr uint32_t kPlaneBytes = kBlockValues / 8;

  // The upper halves of two values.
  static __device__ __forceinline__ uint32_t upper_of(const Block<Cut::kBytes>& values, int r,
                                                      int pair) {
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

  __device__ __forceinline__ void code_exponents(const uint32_t (&below)[kBlockRows][2]) {
    const uint32_t escape = (1u << width) - 1;
    // 255 - exponent, and one more than the top, modulo 256, in the upper bytes.
    const uint32_t above = ((top + 1) & 255) * 0x01000100u;
    const uint32_t most = each_half(escape << 8 | 255);
    uint32_t rows[kBlockRows];
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      const uint32_t codes[2] = {__viaddmin_u16x2(below[r][0], above, most),
                                 __viaddmin_u16x2(below[r][1], above, most)};
      rows[r] = upper_bytes(codes);
    }
    codes_[0] = rows[0] | rows[1] << 4;
    codes_[1] = rows[2] | rows[3] << 4;
    const uint32_t rows01 = escapes_in(codes_[0], escape), rows23 = escapes_in(codes_[1], escape);
    flags_ = join_escapes(rows01, rows23);
    places = EscapePlaces(rows01, rows23);
  }

  static __device__ __forceinline__ uint32_t plane_row(const Block<Cut::kBytes>& values, int p,
                                                       int r) {
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
  static __device__ __forceinline__ uint32_t bits_row(const Block<Cut::kBytes>& values, int r) {
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

  __device__ __forceinline__ void put_escapes(const Block<Cut::kBytes>& values,
                                              std::byte* list) const {
    uint32_t rows[kBlockRows];
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      const uint32_t below[2] = {inverted(upper_of(values, r, 0)),
                                 inverted(upper_of(values, r, 1))};
      rows[r] = upper_bytes(below);
    }
    places.each(flags_, [&](uint32_t row, uint32_t k, uint32_t at) {
      const uint32_t byte = k + 4 * (row & 1);
      const uint32_t below =
          row < 2 ? permute(rows[0], rows[1], byte) : permute(rows[2], rows[3], byte);
      list[at] = static_cast<std::byte>(~below);
    });
  }

  static __device__ __forceinline__ void store(const PlaneWords& words, std::byte* at, bool mine) {
    if (!mine) return;
    reinterpret_cast<uint32_t*>(at)[0] = words.row[0];
    reinterpret_cast<uint32_t*>(at)[4] = words.row[1];
  }

  uint32_t codes_[2];  // this lane's, of two rows each
  uint32_t flags_;     // of the escapes among them
};

}  // namespace strait::codec::gpu
