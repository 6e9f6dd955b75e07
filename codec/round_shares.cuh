// What the blocks of a round take, added up by a team of warps that has one block each: where a
// warp's own goes, and how much they take together. Device code; every thread of the team calls
// together; 15 instructions and a barrier, and in the dense mode three for each warp.
#pragma once

#include "codec/shared_place.cuh"
#include "codec/team.cuh"

namespace strait::codec::gpu {

// Bytes of planes and lists in one word: 16 blocks have at most 2^16 and 16 * 255 * 8 of them.
inline constexpr uint32_t kListShift = 17, kPlaneMask = (1u << kListShift) - 1;

// Of the blocks before this warp's, and of all.
struct Shares {
  __device__ __forceinline__ uint32_t planes_before() const { return bytes_before & kPlaneMask; }
  __device__ __forceinline__ uint32_t planes() const { return bytes & kPlaneMask; }
  __device__ __forceinline__ uint32_t lists_before() const { return bytes_before >> kListShift; }
  __device__ __forceinline__ uint32_t lists() const { return bytes >> kListShift; }
  uint32_t bytes_before = 0, bytes = 0;
  uint32_t bits_before = 0, bits = 0;  // of this lane's streams: exponents, low halves << 16
};

template <int kWarps>
struct SharesRoom {
  static_assert(kWarps <= 16, "sums of a round fit their parts of a word");
  uint32_t bytes[2][kWarps];  // by parity of the round
  uint32_t bits[2][kWarps][kWarpLanes];
};

template <class Team, bool kDense>
class RoundShares {
 public:
  __device__ __forceinline__ RoundShares(const Team& team, SharesRoom<Team::kWarps>& room)
      : team_(team),
        warp_(kept(team.warp)),
        own_(&room.bytes[0][warp_]),
        each_(&room.bytes[0][device::lane_id() % Team::kWarps]),
        bits_(&room.bits[0][0][device::lane_id()]) {}

  __device__ __forceinline__ Shares share(uint32_t bytes, [[maybe_unused]] uint32_t bits) {
    if constexpr (Team::kWarps == 1) return {0, bytes, 0, bits};
    constexpr uint32_t kBytes = 4 * Team::kWarps, kBits = 4 * kWarpLanes;
    const uint32_t lane = device::lane_id();
    if (lane == 0) own_.put_word(round_ * kBytes, bytes);
    const uint32_t row = round_ * Team::kWarps * kBits;
    if constexpr (kDense) bits_.put_word(row + warp_ * kBits, bits);
    team_.sync();
    Shares shares;
    // A word of each warp, in as many lanes.
    const uint32_t of_warp = each_.word(round_ * kBytes);
    shares.bytes = warp_sum(lane < Team::kWarps ? of_warp : 0);
    shares.bytes_before = warp_sum(lane < warp_ ? of_warp : 0);
    if constexpr (kDense) {
#pragma unroll
      for (uint32_t warp = 0; warp < Team::kWarps; ++warp) {
        if (warp == warp_) shares.bits_before = shares.bits;
        shares.bits += bits_.word(row + warp * kBits);
      }
    }
    round_ ^= 1;
    return shares;
  }

 private:
  const Team team_;
  const uint32_t warp_;
  const SharedPlace own_, each_, bits_;
  uint32_t round_ = 0;
};

}  // namespace strait::codec::gpu
