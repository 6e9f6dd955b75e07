// Encodes a tile with a team of warps. In each round every warp has one block in registers: it
// decides how to code it, the team adds up what the blocks before take, and each warp writes its
// planes where they belong. Lists and streams wait in scratch memory until all planes are written:
//
//   round 0   warp 0: block 0   warp 1: block 1  ...   decide | meet | write
//   round 1   warp 0: block W   ...
//   end       all warps: lists and streams from scratch to behind the planes
//
// Each value is read once, and is on its way from memory two rounds before. Device code; every
// thread of the team calls together.
#pragma once

#include "codec/block_put.cuh"
#include "codec/round_shares.cuh"
#include "codec/usual_table.cuh"
#include "codec/usual_write.cuh"

namespace strait::codec::gpu {

// Memory of one team, global but where it says. Streams are zero before the first tile, and again
// after each.
struct Scratch {
  std::byte* lists = nullptr;     // list_room(), at a multiple of 16
  uint32_t* exponents = nullptr;  // kExponentWords, in shared memory; null when the mode is fast
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
  SharesRoom<kWarps> shares;
  uint32_t reduced[kWarps];  // of the chunk
  // For a block's list on its way: one half of a byte each, or sixteen bytes of each lane.
  alignas(16) uint8_t halves[kWarps][kBlockValues + 16];
};

template <class Cut, class Team, class Encoder>
class TileEncoder {
 public:
  using Shared = EncodeShared<Team::kWarps>;

  __device__ TileEncoder(const Encoder& encoder, const Team& team, Shared& shared,
                         const Scratch& scratch)
      : encoder_(encoder),
        team_(team),
        shared_(shared),
        scratch_(reached(scratch)),
        rounds_(team, shared.shares),
        mine_(encoder.tables, SharedPlace(shared.halves[team.warp] + 16 * device::lane_id())) {}

  // Before the first of a source's tiles; `count` are all of its values.
  template <class Source>
  __device__ void start(const Source& source, uint32_t count) {
    count_ = count;
    for (uint32_t round = 1; round < kRoundsAhead; ++round)
      fetch_ahead(source, (round * Team::kWarps + team_.warp) * kCount);
  }

  // The n values from number `first` of the source's. Returns the tile's bytes, or 0 when they
  // exceed the room.
  template <class Source>
  __device__ uint32_t encode(Source& source, uint32_t first, uint32_t n, std::byte* tile,
                             uint32_t room) {
    tile_ = kept(tile);
    lists_ = kept(scratch_.lists);
    left_ = static_cast<int32_t>(min(room, 1u << 30));  // more than any tile takes
    const auto blocks = static_cast<uint32_t>(blocks_of(n));
    const auto records = static_cast<uint32_t>(Cut::shape().record_bytes()) * blocks;
    used_ = static_cast<uint32_t>(round_up(records, kAlign));
    left_ -= static_cast<int32_t>(used_);
    list_used_ = position_ = low_position_ = 0;
    if (left_ < 0) return 0;
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
  static __device__ __forceinline__ Scratch reached(Scratch scratch) {
    if constexpr (Encoder::kDense) scratch.exponents = &in_shared(*scratch.exponents);
    return scratch;
  }

  static constexpr auto kCount = static_cast<uint32_t>(kBlockValues);
  static constexpr uint32_t kRoundsAhead = 2;

  struct NoLane {
    __device__ NoLane(const EncodeTables&, SharedPlace) {}
  };
  template <bool kUsual, class>
  struct UsualOf {
    using Lane = NoLane;
  };
  template <class C>
  struct UsualOf<true, C> {
    using Writer = std::conditional_t<Encoder::kDense, UsualTableWriter<C>, UsualWriter<C>>;
    using Lane = typename Writer::Lane;
  };
  using Usual = UsualOf<kHasUsual<Cut>, Cut>;

  // A full block that this warp will read; sources without memory of their own need not be told.
  template <class Source>
  __device__ __forceinline__ void fetch_ahead([[maybe_unused]] const Source& source,
                                              [[maybe_unused]] uint32_t first) const {
    if constexpr (requires { source.fetch_ahead(first); })
      if (first + kCount <= count_) source.fetch_ahead(first);
  }

  // Rounds of full blocks, then the round of the block that is not full: of the warps that have
  // none left, some may have had a round more. Returns whether they fit.
  template <class Source>
  __device__ __forceinline__ bool code_blocks(Source& source, uint32_t first, uint32_t n) {
    const uint32_t full = kept(n / kCount), blocks = static_cast<uint32_t>(blocks_of(n));
    const uint32_t warp = kept(team_.warp);
    uint32_t block = warp;
    for (uint32_t at = first + block * kCount; block < full && left_ >= 0;
         at += Team::kWarps * kCount, block += Team::kWarps)
      code_full(source, at, block);
    if (left_ >= 0 && block - warp < blocks)
      code_rest(source, first + block * kCount, block < blocks ? n - block * kCount : 0, block);
    return left_ >= 0;
  }

  template <class Source>
  __device__ __forceinline__ void code_full(Source& source, uint32_t first, uint32_t block) {
    Block<Cut::kBytes> values;
    source.template read<true>(first, kCount, values);
    fetch_ahead(source, first + kRoundsAhead * Team::kWarps * kCount);
    if constexpr (kHasUsual<Cut>) {
      typename Usual::Writer usual;
      if (usual.choose(encoder_.tables, mine_, values)) {
        const Shares shares = rounds_.share(usual.plane_bytes() | usual.list_bytes() << kListShift,
                                            usual.stream_bits());
        if (!take(shares)) return;
        if (device::lane_id() == block) record_ = usual.record();
        usual.put(mine_, values, tile_, used_ + shares.planes_before(), list_of(shares));
        if constexpr (Encoder::kDense)
          usual.append(scratch_.exponents + device::lane_id() * kExponentStride,
                       position_ + (shares.bits_before & 0xFFFF));
        use(shares);
        return;
      }
    }
    // A copy has an address and leaves the values in registers.
    Block<Cut::kBytes> copy = values;
    code_apart<true>(copy, kCount, block);
  }

  // The block that is not full, or none.
  template <class Source>
  __device__ __forceinline__ void code_rest(Source& source, uint32_t first, uint32_t count,
                                            uint32_t block) {
    Block<Cut::kBytes> values;
    if (count != 0) source.template read<false>(first, count, values);
    code_apart<false>(values, count, block);
  }

  // Few blocks, so that what decides and writes is not in line and takes no registers elsewhere.
  template <bool kFull>
  __device__ __forceinline__ void code_apart(Block<Cut::kBytes>& values, uint32_t count,
                                             uint32_t block) {
    BlockCode code;
    if (count != 0) choose_apart<kFull>(encoder_, values, count, code);
    const uint32_t bits = kFull && Encoder::kDense ? stream_bits_of(code) | code.low_bits << 16 : 0;
    const Shares shares = rounds_.share(code.plane_bytes | code.list_bytes << kListShift, bits);
    if (!take(shares)) return;
    if (device::lane_id() == block) record_ = packed(code.record);
    if (count != 0) put_apart<kFull>(values, code, count, place_of(shares));
    if constexpr (kFull && Encoder::kDense) append(values, code, shares);
    use(shares);
  }

  template <bool kFull>
  static __device__ __attribute__((noinline)) void choose_apart(Encoder encoder,
                                                                Block<Cut::kBytes>& values,
                                                                uint32_t count, BlockCode& code) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r) to_columns<Cut::kBytes>(values.word[r]);
    choose_block<kFull, Cut>(encoder, values, count, code);
  }
  template <bool kFull>
  static __device__ __attribute__((noinline)) void put_apart(const Block<Cut::kBytes>& columns,
                                                             const BlockCode& code, uint32_t count,
                                                             const BlockPlace& place) {
    put_block<kFull, Cut>(columns, code, count, place);
  }

  // Takes room for a round's blocks, or tells that there is none.
  __device__ __forceinline__ bool take(const Shares& shares) {
    left_ -= static_cast<int32_t>(shares.planes() + shares.lists());
    return left_ >= 0;
  }
  __device__ __forceinline__ BlockPlace place_of(const Shares& shares) const {
    return {tile_ + (used_ + shares.planes_before()), list_of(shares), shared_.halves[team_.warp]};
  }
  __device__ __forceinline__ std::byte* list_of(const Shares& shares) const {
    return lists_ + (list_used_ + shares.lists_before());
  }
  __device__ __forceinline__ void use(const Shares& shares) {
    used_ += shares.planes();
    list_used_ += shares.lists();
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
  __device__ void put_records(uint32_t blocks) {
    const uint32_t block = device::lane_id();
    const bool own = block < blocks && block % Team::kWarps == team_.warp;
    any_ = any_ || __any_sync(kAllLanes, own && record_.method() != kMethodZero);
    if (!own) return;
    constexpr uint32_t kTop = Cut::shape().top_bytes(), kLow = Cut::shape().low_bytes();
    const auto put = [&](uint32_t at, uint32_t size, uint32_t value) {
      for (uint32_t b = 0; b < size; ++b) tile_[at + b] = static_cast<std::byte>(value >> (8 * b));
    };
    put(kTop * block, kTop, record_.first & 0xFFFF);
    put(kTop * blocks + block, 1, record_.first >> 16 & 255);
    put((kTop + 1) * blocks + block, 1, record_.first >> 24);
    put((kTop + 2) * blocks + kLow * block, kLow, record_.low);
  }

  // Lists, streams and what fills the last sixteen bytes.
  __device__ uint32_t finish() {
    team_.sync();
    const uint32_t vectors = used_ % kAlign == 0 ? list_used_ / 16 : 0;
    for (uint32_t i = team_.thread(); i < vectors; i += Team::kThreads)
      device::store16(tile_ + used_ + 16 * i, device::load16(lists_ + 16 * i));
    for (uint32_t i = 16 * vectors + team_.thread(); i < list_used_; i += Team::kThreads)
      tile_[used_ + i] = lists_[i];
    used_ += list_used_;
    if constexpr (Encoder::kDense)
      if (!pack_all()) return 0;
    const auto total = static_cast<uint32_t>(round_up(used_, kAlign));
    if (total > used_ + static_cast<uint32_t>(left_)) return 0;
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
    const uint32_t bytes = pack_streams(team_, words, stride, bits, tile_ + used_,
                                        static_cast<uint32_t>(left_), last_room);
    used_ += bytes;
    left_ -= static_cast<int32_t>(bytes);
    return bytes != 0;
  }

  __device__ void clear(uint32_t* words, uint32_t stride, uint32_t bits) const {
    if (team_.warp != 0) return;
    for (uint32_t w = 0; w * 32 < bits; ++w) words[device::lane_id() * stride + w] = 0;
  }

  const Encoder encoder_;
  const Team team_;
  Shared& shared_;
  const Scratch scratch_;
  RoundShares<Team, Encoder::kDense> rounds_;
  const typename Usual::Lane mine_;
  std::byte* tile_ = nullptr;
  std::byte* lists_ = nullptr;
  int32_t left_ = 0;        // of the tile's room, behind planes and lists
  uint32_t count_ = 0;      // values of all tiles
  uint32_t used_ = 0;       // of the tile, without lists
  uint32_t list_used_ = 0;  // of scratch
  uint32_t position_ = 0;   // bits of this lane's streams, before the round
  uint32_t low_position_ = 0;
  PackedRecord record_;  // this lane's
  bool any_ = false;
};

}  // namespace strait::codec::gpu
