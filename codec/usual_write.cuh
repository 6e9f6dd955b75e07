// Chooses and writes a usual block (usual.cuh) with two values to a word: what a code is falls out
// of one addition that stops at the escape, two values at a time. Decides as block_choose.cuh does,
// or leaves the block to it. Device code; every lane of a warp calls together; 20 instructions for
// a lane's value of bfloat16.
#pragma once

#include "codec/counts.cuh"
#include "codec/usual_values.cuh"

namespace strait::codec::gpu {

template <class Cut>
class UsualWriter {
 public:
  // The values as they stand in memory. Returns whether the block is a usual one; the same in all
  // lanes, as is what the members without a comment say then.
  __device__ __forceinline__ bool choose(const EncodeTables& tables,
                                         const Block<Cut::kBytes>& values) {
    if (Values::are_equal(values)) return false;
    uint32_t below[kBlockRows][2];
    Values::invert(values, below);
    const GuessedWindow guess =
        guess_window(tables, Cut::kExponentBits, Values::upper_bytes(below[0]),
                     Values::upper_bytes(below[kBlockRows / 2]));
    if (guess.width == 0) return false;
    width = guess.width;
    top = guess.top;
    code_exponents(below);
    if (places.total > kBlockValues / 8) return false;
    return Values::seem_whole(values);
  }

  __device__ __forceinline__ BlockRecord record() const {
    return {static_cast<uint16_t>(top & 255),
            static_cast<uint8_t>(kUsualKind + kMethodWindow + width),
            static_cast<uint8_t>(places.total), static_cast<uint16_t>(kUsualLow<Cut>)};
  }
  __device__ __forceinline__ uint32_t plane_bytes() const {
    return Cut::kPlanes * kBlockValues + (Cut::kBits + width) * kPlaneBytes;
  }
  __device__ __forceinline__ uint32_t list_bytes() const { return places.total; }
  __device__ __forceinline__ uint32_t stream_bits() const { return 0; }

  __device__ __forceinline__ void put(const EncodeTables& tables, const Block<Cut::kBytes>& values,
                                      std::byte* planes, std::byte* list) const {
    const uint32_t lane = device::lane_id();
    if (flags_ != 0) put_escapes(values, list);
    const PlaneSelectors mine = tables.selectors[lane];
    std::byte* const bits = Values::put_planes(mine, values, planes);
    Values::store(gather_planes(mine, codes_[0], codes_[1]), bits + Cut::kBits * kPlaneBytes,
                  mine.plane() < width);
  }

  uint32_t width, top;
  EscapePlaces places;  // its `first` is this lane's

 private:
  using Values = UsualValues<Cut>;
  static constexpr uint32_t kPlaneBytes = kBlockValues / 8;

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
      rows[r] = Values::upper_bytes(codes);
    }
    codes_[0] = rows[0] | rows[1] << 4;
    codes_[1] = rows[2] | rows[3] << 4;
    const uint32_t rows01 = escapes_in(codes_[0], escape), rows23 = escapes_in(codes_[1], escape);
    flags_ = join_escapes(rows01, rows23);
    places = EscapePlaces(rows01, rows23);
  }

  __device__ __forceinline__ void put_escapes(const Block<Cut::kBytes>& values,
                                              std::byte* list) const {
    uint32_t rows[kBlockRows];
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      const uint32_t below[2] = {Values::inverted(Values::upper_of(values, r, 0)),
                                 Values::inverted(Values::upper_of(values, r, 1))};
      rows[r] = Values::upper_bytes(below);
    }
    places.each(flags_, [&](uint32_t row, uint32_t k, uint32_t at) {
      const uint32_t byte = k + 4 * (row & 1);
      const uint32_t below =
          row < 2 ? permute(rows[0], rows[1], byte) : permute(rows[2], rows[3], byte);
      list[at] = static_cast<std::byte>(~below);
    });
  }

  uint32_t codes_[2];  // this lane's, of two rows each
  uint32_t flags_;     // of the escapes among them
};

}  // namespace strait::codec::gpu
