// The 32 streams of a tile on their way out and in, one per lane. An encoder appends to them in
// scratch memory, where each lane has room for its longest stream, and packs them behind each other
// when the tile is complete; a decoder's lane reads its own, four codes with one look at 32 bits.
// Device code; every lane of a warp calls together; three instructions for each value appended,
// eight for each one read.
#pragma once

#include "codec/code_tables.cuh"
#include "codec/cut.cuh"
#include "codec/team.cuh"

namespace strait::codec::gpu {

inline constexpr uint32_t kLaneValues = static_cast<uint32_t>(kTileValues / kLanes);
// Words between lanes: the longest stream, and odd, so that lanes meet in no bank.
inline constexpr uint32_t kExponentStride = kLaneValues * kMostCodeBits / 32 + 1;
inline constexpr uint32_t kLowStride = kLaneValues * (kMostCodeBits + 15) / 32 + 1;
inline constexpr uint32_t kMostLowLaneBytes = kLaneValues * 3;  // what the room must hold, at least
inline constexpr uint32_t kWideStore = 8;  // likewise: what the host's stores take

// Appends to one lane's stream, of which others may hold the bits on both sides.
class LaneAppender {
 public:
  __device__ LaneAppender(uint32_t* lane_words, uint32_t position)
      : word_(lane_words + position / 32), filled_(position % 32) {}

  // At most 32 bits.
  __device__ __forceinline__ void append(uint32_t bits, uint32_t length) {
    waiting_ |= bits << filled_;
    const uint32_t total = filled_ + length;
    if (total >= 32) {
      atomicOr(word_++, waiting_);
      waiting_ = __funnelshift_l(bits, 0, filled_);
    }
    filled_ = total % 32;
  }
  __device__ __forceinline__ void finish() const {
    if (waiting_ != 0) atomicOr(word_, waiting_);
  }

 private:
  uint32_t* word_;
  uint32_t filled_;
  uint32_t waiting_ = 0;
};

// Packs streams of so many bits, with their lengths in front. Their words are zero afterwards.
// Returns the bytes, or 0 when they do not fit the room or differ too much. `spare` is what the
// room must hold beyond all but the last of them.
template <class Team>
__device__ uint32_t pack_streams(const Team& team, uint32_t* words, uint32_t stride, uint32_t bits,
                                 std::byte* out, uint32_t room, uint32_t last_room) {
  const uint32_t lane = device::lane_id(), length = (bits + 7) / 8;
  const uint32_t up_to = running_sum(length), before = up_to - length;
  const uint32_t least = warp_min(length), spread = warp_max(length) - least;
  const uint32_t last = last_room != 0 ? last_room : from_lane(length, kWarpLanes - 1);
  const uint32_t needed = static_cast<uint32_t>(kMostLaneHeader) +
                          from_lane(before, kWarpLanes - 1) + last + kWideStore;
  const bool fits = needed <= room && spread <= 255;
  const uint32_t width = 32 - static_cast<uint32_t>(__clz(static_cast<int>(spread)));
  const uint32_t header = 3 + 4 * width;
  if (fits && team.warp == 0) {
    if (lane < 3) out[lane] = static_cast<std::byte>(lane == 2 ? width : least >> (8 * lane));
    for (uint32_t p = 0; p < width; ++p) {
      const uint32_t plane = __ballot_sync(kAllLanes, (length - least) >> p & 1);
      if (lane < 4) out[3 + 4 * p + lane] = static_cast<std::byte>(plane >> (8 * lane));
    }
  }
  for (uint32_t stream = team.warp; stream < kWarpLanes; stream += Team::kWarps) {
    uint32_t* const from = words + stream * stride;
    const uint32_t bytes = from_lane(length, stream), start = from_lane(before, stream);
    if (fits)
      for (uint32_t b = lane; b < bytes; b += kWarpLanes)
        out[header + start + b] = reinterpret_cast<const std::byte*>(from)[b];
    __syncwarp();
    for (uint32_t w = lane; w < (bytes + 3) / 4; w += kWarpLanes) from[w] = 0;
  }
  return fits ? header + from_lane(up_to, kWarpLanes - 1) : 0;
}

// One lane's stream. It may run beyond its end, and sees zeros beyond the tile's.
class LaneReader {
 public:
  LaneReader() = default;
  // Positions in bits from the tile's start; `words` of the tile are there.
  __device__ void open(const std::byte* tile, uint32_t words, uint32_t position) {
    tile_ = reinterpret_cast<const uint32_t*>(tile);
    words_ = words;
    next_ = position / 32;
    offset_ = position % 32;
    first_ = load();
    second_ = load();
    third_ = load();
  }
  // Bits from the tile's start.
  __device__ __forceinline__ uint32_t position() const { return (next_ - 3) * 32 + offset_; }
  __device__ __forceinline__ uint32_t peek() const {
    return __funnelshift_r(first_, second_, offset_);
  }
  // At most 32 bits.
  __device__ __forceinline__ void skip(uint32_t bits) {
    offset_ += bits;
    if (offset_ < 32) return;
    offset_ -= 32;
    first_ = second_;
    second_ = third_;
    third_ = load();
  }

 private:
  __device__ __forceinline__ uint32_t load() {
    const uint32_t word = next_ < words_ ? tile_[next_] : 0;
    ++next_;
    return word;
  }

  const uint32_t* tile_;
  uint32_t words_;
  uint32_t next_;  // of the words, to load
  uint32_t offset_;
  uint32_t first_, second_, third_;  // the third on its way
};

// The next four symbols, one to a byte.
__device__ __forceinline__ uint32_t read_symbols(const uint8_t* symbols, LaneReader& reader) {
  uint32_t window = reader.peek(), entries = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const uint32_t entry = symbols[window & 255];
    window >>= entry >> 4;
    entries |= entry << (8 * k);
  }
  reader.skip(sum_of_bytes(entries >> 4 & 0x0F0F0F0Fu, 0));
  return entries & 0x0F0F0F0Fu;
}

// The next four low halves, their low and their high bytes.
__device__ __forceinline__ void read_low_halves(const uint8_t* codes, LaneReader& reader,
                                                uint32_t& low, uint32_t& high) {
  low = high = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const uint32_t window = reader.peek(), entry = codes[window & 255];
    const uint32_t zeros = entry & 31, length = (entry >> 5) + 1;
    const uint32_t extra = zeros < 15 ? 15 - zeros : 0;
    const uint32_t above = window >> length & ((1u << extra) - 1);
    const uint32_t value = (above << 1 | 1) << zeros;
    low |= (value & 255) << (8 * k);
    high |= (value >> 8 & 255) << (8 * k);
    reader.skip(length + extra);
  }
}

}  // namespace strait::codec::gpu
