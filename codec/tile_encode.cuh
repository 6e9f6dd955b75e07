// Encodes a tile with a team of warps. In each round every warp has one block in registers: it
// decides how to code it, the team adds up what the blocks before take, and each warp writes its
// planes where they belong. Lists and streams wait in scratch memory until all planes are written:
//
//   round 0   warp 0: block 0   warp 1: block 1  ...   decide | meet | write
//   round 1   warp 0: block W   ...
//   end       all warps: lists and streams from scratch to behind the planes
//
// Each value is read once. Device code; every thread of the team calls together.
#pragma once

#include "codec/block_put.cuh"
#include "codec/team.cuh"
#include "codec/usual_table.cuh"
#include "codec/usual_write.cuh"

namespace strait::codec::gpu {

// Memory of one team, shared or global. Streams are zero before the first tile, and again after
// each.
struct Scratch {
  std::byte* lists = nullptr;     // list_room(), at a multiple of 16
  uint32_t* exponents = nullptr;  // kExponentWords; null when the mode is fast
  uint32_t* low = nullptr;        // kLowWords; null but for float in the dense mode
};
inline constexpr uint32_t kExponentWords = kWarpLanes * kExponentStride;
inline constexpr uint32_t kLowWords = kWarpLanes * kLowStride;
// A block's list has 255 bytes, or eights of bytes where byte planes can be sparse.
constexpr uint32_t list_room(const Shape& shape) {
  const size_t unit = shape.byte_planes() == 0 ? 1 : kSparseListUnit;
  return static_cast<uint32_t>(round_up(kTileBlocks * 255 * unit, kAlign));
}

// What the warps of a team tell each other, in shared memory.
template <int kWarps>
struct EncodeShared {
  static_assert(kWarps < 16, "sums of a round fit 16 bits");
  uint32_t bytes[2][kWarps];             // of planes, of lists << 16; by parity of the round
  uint32_t bits[2][kWarps][kWarpLanes];  // of the lane, in the exponent streams, low << 16
  uint32_t reduced[kWarps];              // of the chunk
  uint8_t halves[kWarps][kBlockValues + 4];
};

template <class Cut, class Team, class Encoder>
class TileEncoder {
 public:
  using Shared = EncodeShared<Team::kWarps>;

  __device__ TileEncoder(const Encoder& encoder, const Team& team, Shared& shared,
                         const Scratch& scratch)
      : encoder_(encoder), team_(team), shared_(shared), scratch_(scratch) {}

  // The n values from number `first` of the source's. Returns the tile's bytes, or 0 when they
  // exceed the room.
  template <class Source>
  __device__ uint32_t encode(Source& source, uint32_t first, uint32_t n, std::byte* tile,
                             uint32_t room) {
    tile_ = tile;
    room_ = room;
    const auto blocks = static_cast<uint32_t>(blocks_of(n));
    const auto records = static_cast<uint32_t>(Cut::shape().record_bytes()) * blocks;
    used_ = static_cast<uint32_t>(round_up(records, kAlign));
    list_used_ = position_ = low_position_ = 0;
    if (used_ > room) return 0;
    if (team_.thread() < used_ - records) tile[records + team_.thread()] = std::byte{0};
    if (!code_blocks(source, first, n)) {
      if constexpr (Encoder::kDense) {
        clear(scratch_.exponents, kExponentStride, position_);
        clear(scratch_.low, kLowStride, low_position_);
      }
      return 0;
    }
    put_records(blocks);
    return finish();
  }

  // Whether a block of this warp had bits that are not zero.
  __device__ bool any() const { return any_; }

 private:
  // What the blocks of a round take: those before this warp's, and all.
  struct Shares {
    uint32_t bytes_before = 0, bytes = 0, bits_before = 0, bits = 0;
  };

  // `bytes` are those of planes, of lists << 16; `bits` this lane's.
  __device__ __forceinline__ Shares share(uint32_t bytes, uint32_t bits) {
    if constexpr (Team::kWarps == 1) return {0, bytes, 0, bits};
    const uint32_t lane = device::lane_id();
    if (lane == 0) shared_.bytes[parity_][team_.warp] = bytes;
    if constexpr (Encoder::kDense) shared_.bits[parity_][team_.warp][lane] = bits;
    team_.sync();
    Shares shares;
    for (uint32_t warp = 0; warp < Team::kWarps; ++warp) {
      if (warp == team_.warp) {
        shares.bytes_before = shares.bytes;
        shares.bits_before = shares.bits;
      }
      shares.bytes += shared_.bytes[parity_][warp];
      if constexpr (Encoder::kDense) shares.bits += shared_.bits[parity_][warp][lane];
    }
    parity_ ^= 1;
    return shares;
  }

  // Rounds of full blocks, then the round of the block that is not full: of the warps that have
  // none left, some may have had a round more.
  template <class Source>
  __device__ __forceinline__ bool code_blocks(Source& source, uint32_t first, uint32_t n) {
    constexpr auto kCount = static_cast<uint32_t>(kBlockValues);
    const uint32_t full = n / kCount, blocks = static_cast<uint32_t>(blocks_of(n));
    uint32_t block = team_.warp;
    for (; block < full; block += Team::kWarps)
      if (!code_full(source, first + block * kCount, block)) return false;
    if (block - team_.warp >= blocks) return true;
    return code_rest(source, first + block * kCount, block < blocks ? n - block * kCount : 0,
                     block);
  }

  template <class Source>
  __device__ __forceinline__ bool code_full(Source& source, uint32_t first, uint32_t block) {
    constexpr auto kCount = static_cast<uint32_t>(kBlockValues);
    Block<Cut::kBytes> values;
    source.template read<true>(first, kCount, values);
    if constexpr (kHasUsual<Cut>) {
      std::conditional_t<Encoder::kDense, UsualTableWriter<Cut>, UsualWriter<Cut>> usual;
      if (usual.choose(encoder_.tables, values)) {
        const Shares shares =
            share(usual.plane_bytes() | usual.list_bytes() << 16, usual.stream_bits());
        if (!fits(shares)) return false;
        const BlockPlace place = place_of(shares);
        if (device::lane_id() == block) record_ = usual.record();
        usual.put(encoder_.tables, values, place.planes, place.list);
        if constexpr (Encoder::kDense)
          usual.append(scratch_.exponents + device::lane_id() * kExponentStride,
                       position_ + (shares.bits_before & 0xFFFF));
        any_ = true;
        use(shares);
        return true;
      }
    }
    BlockCode code;
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) to_columns<Cut::kBytes>(values.word[r]);
    choose_block<true, Cut>(encoder_, values, kCount, code);
    const uint32_t bits = Encoder::kDense ? stream_bits_of(code) | code.low_bits << 16 : 0;
    const Shares shares = share(code.plane_bytes | code.list_bytes << 16, bits);
    if (!fits(shares)) return false;
    if (device::lane_id() == block) record_ = code.record;
    put_block<true, Cut>(values, code, kCount, place_of(shares));
    if constexpr (Encoder::kDense) append(values, code, shares);
    any_ = any_ || code.record.method() != kMethodZero;
    use(shares);
    return true;
  }

  // The block that is not full, or none: once in a chunk, and so not in line.
  template <class Source>
  __device__ __forceinline__ bool code_rest(Source& source, uint32_t first, uint32_t count,
                                            uint32_t block) {
    Block<Cut::kBytes> columns;
    BlockCode code;
    if (count != 0) {
      source.template read<false>(first, count, columns);
      choose_rest(encoder_, columns, count, code);
    }
    const Shares shares = share(code.plane_bytes | code.list_bytes << 16, 0);
    if (!fits(shares)) return false;
    if (device::lane_id() == block) record_ = code.record;
    if (count != 0) put_rest(columns, code, count, place_of(shares));
    any_ = any_ || code.record.method() != kMethodZero;
    use(shares);
    return true;
  }

  static __device__ __attribute__((noinline)) void choose_rest(const Encoder& encoder,
                                                               Block<Cut::kBytes>& columns,
                                                               uint32_t count, BlockCode& code) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) to_columns<Cut::kBytes>(columns.word[r]);
    choose_block<false, Cut>(encoder, columns, count, code);
  }
  static __device__ __attribute__((noinline)) void put_rest(const Block<Cut::kBytes>& columns,
                                                            const BlockCode& code, uint32_t count,
                                                            const BlockPlace& place) {
    put_block<false, Cut>(columns, code, count, place);
  }

  __device__ __forceinline__ bool fits(const Shares& shares) const {
    return used_ + (shares.bytes & 0xFFFF) + list_used_ + (shares.bytes >> 16) <= room_;
  }
  __device__ __forceinline__ BlockPlace place_of(const Shares& shares) const {
    return {tile_ + (used_ + (shares.bytes_before & 0xFFFF)),
            scratch_.lists + (list_used_ + (shares.bytes_before >> 16)),
            shared_.halves[team_.warp]};
  }
  __device__ __forceinline__ void use(const Shares& shares) {
    used_ += shares.bytes & 0xFFFF;
    list_used_ += shares.bytes >> 16;
    position_ += shares.bits & 0xFFFF;
    low_position_ += shares.bits >> 16;
  }

  __device__ __forceinline__ void append(const Block<Cut::kBytes>& columns, const BlockCode& code,
                                         const Shares& shares) const {
    const uint32_t lane = device::lane_id();
    if (code.lengths != 0)
      append_exponents(code, scratch_.exponents + lane * kExponentStride,
                       position_ + (shares.bits_before & 0xFFFF));
    if constexpr (Cut::kBytes == 4)
      if (code.low_bits != 0)
        append_low_halves<Cut>(columns, encoder_.tables.low_code[code.record.low - kLowTable],
                               scratch_.low + lane * kLowStride,
                               low_position_ + (shares.bits_before >> 16));
  }

  // The records are stored field by field; a lane has that of the block of its number, in the warp
  // that coded it.
  __device__ void put_records(uint32_t blocks) const {
    const uint32_t block = device::lane_id();
    if (block >= blocks || block % Team::kWarps != team_.warp) return;
    constexpr uint32_t kTop = Cut::shape().top_bytes(), kLow = Cut::shape().low_bytes();
    const auto put = [&](uint32_t at, uint32_t size, uint32_t value) {
      for (uint32_t b = 0; b < size; ++b) tile_[at + b] = static_cast<std::byte>(value >> (8 * b));
    };
    put(kTop * block, kTop, record_.top);
    put(kTop * blocks + block, 1, record_.kind);
    put((kTop + 1) * blocks + block, 1, record_.list);
    put((kTop + 2) * blocks + kLow * block, kLow, record_.low);
  }

  // Lists, streams and what fills the last sixteen bytes.
  __device__ uint32_t finish() {
    team_.sync();
    const uint32_t vectors = used_ % kAlign == 0 ? list_used_ / 16 : 0;
    for (uint32_t i = team_.thread(); i < vectors; i += Team::kThreads)
      device::store16(tile_ + used_ + 16 * i, device::load16(scratch_.lists + 16 * i));
    for (uint32_t i = 16 * vectors + team_.thread(); i < list_used_; i += Team::kThreads)
      tile_[used_ + i] = scratch_.lists[i];
    used_ += list_used_;
    if constexpr (Encoder::kDense)
      if (!pack_all()) return 0;
    const auto total = static_cast<uint32_t>(round_up(used_, kAlign));
    if (total > room_) return 0;
    if (team_.thread() < total - used_) tile_[used_ + team_.thread()] = std::byte{0};
    return total;
  }

  __device__ bool pack_all() {
    const bool fits = pack(scratch_.exponents, kExponentStride, position_, 0);
    if (!fits) clear(scratch_.low, kLowStride, low_position_);
    return fits && pack(scratch_.low, kLowStride, low_position_, kMostLowLaneBytes);
  }

  __device__ bool pack(uint32_t* words, uint32_t stride, uint32_t bits, uint32_t last_room) {
    if (!__any_sync(kAllLanes, bits != 0)) return true;
    const uint32_t bytes =
        pack_streams(team_, words, stride, bits, tile_ + used_, room_ - used_, last_room);
    used_ += bytes;
    return bytes != 0;
  }

  __device__ void clear(uint32_t* words, uint32_t stride, uint32_t bits) const {
    if (team_.warp != 0) return;
    for (uint32_t w = 0; w * 32 < bits; ++w) words[device::lane_id() * stride + w] = 0;
  }

  const Encoder& encoder_;
  const Team& team_;
  Shared& shared_;
  const Scratch& scratch_;
  std::byte* tile_ = nullptr;
  uint32_t room_ = 0;
  uint32_t used_ = 0;       // of the tile, without lists
  uint32_t list_used_ = 0;  // of scratch
  uint32_t position_ = 0;   // bits of this lane's streams, before the round
  uint32_t low_position_ = 0;
  uint32_t parity_ = 0;
  BlockRecord record_;  // this lane's
  bool any_ = false;
};

}  // namespace strait::codec::gpu
