// Chooses and writes a usual block (usual.cuh) whose exponents a table codes best: nearly all
// blocks of tensors in the dense mode. Decides as block_choose.cuh does, or leaves the block to it:
// where an exponent is zero, or so low that the table has no code for it. Device code; every lane
// of a warp calls together; 34 instructions for a lane's value of bfloat16.
#pragma once

#include "codec/block_choose.cuh"
#include "codec/shared_place.cuh"
#include "codec/usual_values.cuh"

namespace strait::codec::gpu {

template <class Cut>
struct UsualTableLane {
  __device__ __forceinline__ UsualTableLane(const EncodeTables& tables, SharedPlace)
      : planes(tables.selectors[device::lane_id()]) {}
  PlaneLane planes;
};

template <class Cut>
class UsualTableWriter {
 public:
  using Lane = UsualTableLane<Cut>;

  // The values as they stand in memory. Returns whether the block is such a one; the same in all
  // lanes.
  __device__ __forceinline__ bool choose(const EncodeTables& tables, const Lane&,
                                         const Block<Cut::kBytes>& values) {
    uint32_t below[kBlockRows][2];
    Values::invert(values, below);
    uint32_t sum = 0, rows[kBlockRows];
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) sum = sum_of_bytes(Values::upper_bytes(below[r]), sum);
    if constexpr (Cut::kPlanes != 0) sum += Values::whole_of(values, Cut::kPlanes - 1) << 11;
    sum = warp_sum(sum);
    if (Cut::kPlanes != 0 && sum >> 18 <= Values::kEnough) return false;
    const uint32_t mean = (255 * kCount - (sum & 0x3FFFF)) / kCount, top = mean + kAboveMean;
    // Zeros would be among the bins.
    if (top < kBins || top > 255) return false;
    take_from(top, 16, below, rows);
    const BinCounts counts = count_bins<true>(tables, rows);
    const WindowLane mine(tables);
    const Inside inside(mine, counts);
    if (inside.all < kCount - kCount / 4) return false;
    if (inside.all < kCount && has_zeros(below)) return false;
    // Wide and narrow windows are looked at once more there; a constant is one.
    const uint32_t window_bytes = narrow_key(tables, inside, Cut::kExponentBits) >> 8;
    if (window_bytes <= kPlaneBytes || window_bytes > 5 * kPlaneBytes) return false;
    if (window_bytes > Cut::kExponentBits * kPlaneBytes) return false;
    const TableChoice choice = cheapest_table(tables, counts, 0, kCount - inside.all);
    if (choice.bits / 8 >= window_bytes) return false;
    top_ = mean + tables.above[choice.table];
    table_ = choice.table;
    take_from(top_, kNearSymbols, below, rows);
    return code(tables.code[choice.table], rows) && Values::others_seem_whole(values);
  }

  __device__ __forceinline__ PackedRecord record() const {
    return {(top_ & 255) | (kUsualKind<Cut> + kMethodTable + table_) << 16, kUsualLow<Cut>};
  }
  __device__ __forceinline__ uint32_t plane_bytes() const {
    return Cut::kPlanes * kBlockValues + Cut::kBits * kPlaneBytes;
  }
  __device__ __forceinline__ uint32_t list_bytes() const {
    return 0;
  }
  __device__ __forceinline__ uint32_t stream_bits() const {
    return sum_of_bytes(lengths_, 0);
  }

  __device__ __forceinline__ void put(const Lane& mine, const Block<Cut::kBytes>& values,
                                      std::byte* tile, uint32_t place, std::byte*) const {
    Values::put_planes(mine.planes, values, tile, place);
  }
  __device__ __forceinline__ void append(uint32_t* lane_words, uint32_t position) const {
    LaneAppender appender(lane_words, position);
#pragma unroll
    for (uint32_t r = 0; r < kBlockRows; ++r) appender.append(bits_[r], byte_of(lengths_, r));
    appender.finish();
  }

 private:
  using Values = UsualValues<Cut>;
  static constexpr uint32_t kPlaneBytes = Values::kPlaneBytes;
  static constexpr auto kCount = static_cast<uint32_t>(kBlockValues);

  // How far exponents are below the top, modulo 256, a byte each, at most `most`.
  static __device__ __forceinline__ void take_from(uint32_t top, uint32_t most,
                                                   const uint32_t (&below)[kBlockRows][2],
                                                   uint32_t (&rows)[kBlockRows]) {
    const uint32_t above = ((top + 1) & 255) * 0x01000100u, limit = each_half(most << 8 | 255);
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      const uint32_t halves[2] = {__viaddmin_u16x2(below[r][0], above, limit),
                                  __viaddmin_u16x2(below[r][1], above, limit)};
      rows[r] = Values::upper_bytes(halves);
    }
  }

  static __device__ __forceinline__ bool has_zeros(const uint32_t (&below)[kBlockRows][2]) {
    uint32_t flags = 0;
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      const uint32_t bytes = Values::upper_bytes(below[r]);
      flags |= ((bytes & ~kFlags) + each_byte(1)) & bytes & kFlags;
    }
    return __any_sync(kAllLanes, flags != 0);
  }

  // The codes of all symbols; whether none is an escape, beyond the table or by it.
  __device__ __forceinline__ bool code(const uint2* codes, const uint32_t (&rows)[kBlockRows]) {
    uint32_t far = 0, escapes = 0;
    lengths_ = 0;
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) {
      far |= rows[r] + each_byte(16 - kNearSymbols);
      const uint32_t sum = join_codes(codes, rows[r], bits_[r]);
      lengths_ |= (sum & 255) << (8 * r);
      escapes |= sum / kEscapedCode;
    }
    return !__any_sync(kAllLanes, ((far & each_byte(16)) | escapes) != 0);
  }

  uint32_t top_, table_;
  // This lane's: the bits of four codes for each row, and their lengths, a byte each.
  uint32_t bits_[kBlockRows], lengths_;
};

}  // namespace strait::codec::gpu
