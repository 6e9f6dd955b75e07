// What becomes of values that arrive coded: block by block, as it is decoded, a warp combines them
// with the step's own operand, if it has one, and writes them to up to two places. Nothing is
// stored in between, and the bits are those of combine.cuh. Device code; every lane of a warp calls
// together.
#pragma once

#include "codec/values.cuh"
#include "exec/cuda/combine.cuh"

namespace strait::gpu {

template <class N>
struct Landing {
  Operand own;  // what arrives is the second operand, or all there is
  Outputs out;
  DeviceOperation operation;
  typename N::Value factor;
};

// A lane's four neighbours of a row.
template <class N>
struct RowValues {
  typename N::Value of[4];
};

template <class N>
__device__ __forceinline__ RowValues<N> read_row(
    const uint32_t (&words)[sizeof(typename N::Narrow)]) {
  typename N::Narrow narrow[4];
  memcpy(narrow, words, sizeof narrow);
  RowValues<N> row;
#pragma unroll
  for (int i = 0; i < 4; ++i) row.of[i] = N::read(narrow[i]);
  return row;
}

template <class N>
__device__ __forceinline__ void write_row(const RowValues<N>& row,
                                          uint32_t (&words)[sizeof(typename N::Narrow)]) {
  typename N::Narrow narrow[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) narrow[i] = N::write(row.of[i]);
  memcpy(words, narrow, sizeof narrow);
}

// Values as they are computed with, of which the first `count` of a row belong to the block.
template <class N>
__device__ __forceinline__ RowValues<N> read_wide(const unsigned char* sums, uint32_t first,
                                                  uint32_t count) {
  const auto* from = reinterpret_cast<const typename N::Value*>(sums) + first;
  RowValues<N> row = {};
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i)
    if (i < count) row.of[i] = from[i];
  return row;
}

template <class N>
__device__ __forceinline__ void write_wide(const RowValues<N>& row, unsigned char* sums,
                                           uint32_t first, uint32_t count) {
  auto* to = reinterpret_cast<typename N::Value*>(sums) + first;
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i)
    if (i < count) to[i] = N::with_one_nan(row.of[i]);
}

// The rows of a block become what the step makes of them; those that it keeps wide are written.
template <class N, bool kFull, bool kSums>
__device__ __forceinline__ void combine_rows(const Landing<N>& landing, uint32_t first, uint32_t n,
                                             codec::gpu::Block<sizeof(typename N::Narrow)>& block) {
  using codec::gpu::kBlockRowsInt;
  constexpr int kBytes = sizeof(typename N::Narrow);
  // Two blocks of double and their sums are more than there are registers.
  constexpr bool kByRow = kBytes == 8;
  const Operand own = landing.own;
  const bool own_wide = N::kHasWideForm && own.wide;
  const bool target_wide = N::kHasWideForm && landing.out.target_wide;
  codec::gpu::Block<kBytes> narrow;
  if (!kByRow && own.data != nullptr && !own_wide)
    codec::gpu::MemorySource<kBytes>(own.data).template read<kFull>(first, n, narrow);
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) {
    const uint32_t count = kFull ? 4 : codec::gpu::values_in_row(n, r);
    const uint32_t at =
        first + r * static_cast<uint32_t>(codec::kRowValues) + 4 * device::lane_id();
    RowValues<N> row = read_row<N>(block.word[r]);
    if (own.data != nullptr) {
      RowValues<N> mine =
          kByRow || own_wide ? read_wide<N>(own.data, at, count) : read_row<N>(narrow.word[r]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (own.scaled) mine.of[i] = scale<N>(mine.of[i], landing.factor);
        row.of[i] = kSums ? N::sum(mine.of[i], row.of[i])
                          : apply<N>(landing.operation, mine.of[i], row.of[i]);
      }
    }
    if (target_wide) write_wide<N>(row, landing.out.target, at, count);
    write_row<N>(row, block.word[r]);
  }
}

// By value: a block stays in registers.
template <class N, bool kFull, bool kSums>
__device__ STRAIT_OWN_LOOP void land(const Landing<N>& landing, uint32_t first, uint32_t n,
                                     codec::gpu::Block<sizeof(typename N::Narrow)> block) {
  using Sink = codec::gpu::MemorySink<sizeof(typename N::Narrow)>;
  const Outputs out = landing.out;
  const bool target_wide = N::kHasWideForm && out.target_wide;
  if (landing.own.data != nullptr || target_wide)
    combine_rows<N, kFull, kSums>(landing, first, n, block);
  if (out.target != nullptr && !target_wide)
    Sink(out.target).template write<kFull>(first, n, block);
  if (out.slot != nullptr) Sink(out.slot).template write<kFull>(first, n, block);
}

// The sink of a chunk decoder.
template <class N>
class LandingSink {
 public:
  static constexpr int kBytes = sizeof(typename N::Narrow);

  __device__ explicit LandingSink(const Landing<N>& landing)
      : landing_(landing),
        copies_(landing.own.data == nullptr && landing.out.slot == nullptr &&
                !(N::kHasWideForm && landing.out.target_wide)),
        sums_(landing.operation == DeviceOperation::kSum),
        copy_(landing.out.target) {}

  template <bool kFull>
  __device__ __forceinline__ void write(uint32_t first, uint32_t n,
                                        const codec::gpu::Block<kBytes>& block) const {
    if (copies_)
      copy_.template write<kFull>(first, n, block);
    else if (kFull && sums_)
      land<N, true, true>(landing_, first, n, block);
    else
      land<N, kFull, false>(landing_, first, n, block);
  }

 private:
  const Landing<N>& landing_;
  const bool copies_;  // to the target alone, as they are
  const bool sums_;
  const codec::gpu::MemorySink<kBytes> copy_;
};

}  // namespace strait::gpu
