// Chooses and writes a usual block (usual.cuh) with two values to a word: what a code is falls out
// of one addition that stops at the escape, two values at a time. Decides as block_choose.cuh does,
// or leaves the block to it. Device code; every lane of a warp calls together; 16 instructions for
// a lane's value of bfloat16.
#pragma once

#include "codec/counts.cuh"
#include "codec/shared_place.cuh"
#include "codec/usual_values.cuh"

namespace strait::codec::gpu {

// What a lane that writes usual blocks keeps in registers.
template <class Cut>
struct UsualWriterLane {
  __device__ __forceinline__ UsualWriterLane(const EncodeTables& tables, SharedPlace room_of_lane)
      : planes(tables.selectors[device::lane_id()]),
        guess(tables, Cut::kExponentBits),
        room(room_of_lane) {}
  PlaneLane planes;
  GuessLane guess;
  SharedPlace room;  // for sixteen bytes of this lane's
};

template <class Cut>
class UsualWriter {
 public:
  using Lane = UsualWriterLane<Cut>;

  // The values as they stand in memory. Returns whether the block is a usual one; the same in all
  // lanes, as is what the members without a comment say then.
  __device__ __forceinline__ bool choose(const EncodeTables&, const Lane& mine,
                                         const Block<Cut::kBytes>& values) {
    Values::invert(values, below_);
    uint32_t counts = 0;
    if constexpr (Cut::kPlanes != 0) counts = Values::whole_of(values, Cut::kPlanes - 1) << 9;
    // A constant is none: width 2 leaves nothing of it out.
    const GuessedWindow guess = guess_window(
        mine.guess, Cut::kExponentBits,
        sampled(Values::upper_bytes(below_[0]), Values::upper_bytes(below_[kBlockRows / 2])),
        counts);
    if (!guess.found || (Cut::kPlanes != 0 && counts <= Values::kEnough)) return false;
    width_ = guess.width;
    above_ = guess.above;
    code_exponents();
    return escapes_.total <= kMostEscapes && Values::others_seem_whole(values);
  }

  __device__ __forceinline__ PackedRecord record() const {
    const uint32_t kind = multiply_add(
        width_, 1u << 16, (kUsualKind<Cut> + kMethodWindow) << 16 | ((above_ - 1) & 255));
    return {multiply_add(escapes_.total, 1u << 24, kind), kUsualLow<Cut>};
  }
  __device__ __forceinline__ uint32_t plane_bytes() const {
    return Cut::kPlanes * kBlockValues + (Cut::kBits + width_) * kPlaneBytes;
  }
  __device__ __forceinline__ uint32_t list_bytes() const { return escapes_.total; }
  __device__ __forceinline__ uint32_t stream_bits() const { return 0; }

  __device__ __forceinline__ void put(const Lane& mine, const Block<Cut::kBytes>& values,
                                      std::byte* tile, uint32_t place, std::byte* list) const {
    std::byte* const bits = Values::put_planes(mine.planes, values, tile, place);
    Values::store(gather_planes(mine.planes, codes_[0], codes_[1]), bits + Cut::kBits * kPlaneBytes,
                  mine.planes.plane < width_);
    if (escapes_.flags == 0) return;
    const uint32_t rows[kBlockRows] = {
        Values::upper_bytes(below_[0]), Values::upper_bytes(below_[1]),
        Values::upper_bytes(below_[2]), Values::upper_bytes(below_[3])};
    mine.room.put_words(rows);
    escapes_.each([&](uint32_t value, uint32_t at) {
      list[at] = static_cast<std::byte>(~mine.room.byte(value));
    });
  }

 private:
  using Values = UsualValues<Cut>;
  static constexpr uint32_t kPlaneBytes = kBlockValues / 8;

  __device__ __forceinline__ void code_exponents() {
    const uint32_t escape = (1u << width_) - 1;
    const uint32_t above = above_ * 0x01000100u;
    const uint32_t most = each_half(escape << 8 | 255);
    uint32_t rows[kBlockRows];
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      const uint32_t codes[2] = {__viaddmin_u16x2(below_[r][0], above, most),
                                 __viaddmin_u16x2(below_[r][1], above, most)};
      rows[r] = Values::upper_bytes(codes);
    }
    codes_[0] = multiply_add(rows[1], 16, rows[0]);
    codes_[1] = multiply_add(rows[3], 16, rows[2]);
    escapes_ = Escapes(codes_, escape);
    escapes_.rank();
  }

  uint32_t width_, above_;         // above: one more than the top, modulo 256
  uint32_t below_[kBlockRows][2];  // 255 - exponent in the upper bytes of halves
  uint32_t codes_[2];              // this lane's, of two rows each
  Escapes escapes_;
};

}  // namespace strait::codec::gpu
