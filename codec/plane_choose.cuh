// Which byte planes of a block are partly zero and how they are stored, and the low halves of
// floats, decided by one warp as the host's choose_plane and choose_low_table decide. Device code;
// every lane of the warp calls together; 15 instructions for a plane of random bytes.
#pragma once

#include "codec/counts.cuh"
#include "codec/record.hpp"

namespace strait::codec::gpu {

inline constexpr uint32_t kMostListBytes = 255 * static_cast<uint32_t>(kSparseListUnit);

struct PlaneCost {
  PlaneMode mode;
  uint32_t plane_bytes;
  uint32_t list_bytes;
};

template <class Cut>
__device__ __forceinline__ void plane_rows(const Block<Cut::kBytes>& columns, int p,
                                           uint32_t (&rows)[kBlockRows]) {
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) rows[r] = Cut::plane(columns.word[r], p);
}

// How many bytes have bits of the mask.
__device__ __forceinline__ uint32_t count_nonzero(const uint32_t (&rows)[kBlockRows],
                                                  uint32_t mask) {
  uint32_t count = 0;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) count += count_of(at_least(rows[r] & each_byte(mask), 1));
  return warp_sum(count);
}

// The smallest way to store a plane; what is beyond n is zero.
template <bool kFull>
__device__ __forceinline__ PlaneCost choose_plane(const uint32_t (&rows)[kBlockRows], uint32_t n) {
  PlaneCost best = {PlaneMode::kFull, n, 0};
  if constexpr (kFull) {
    // The first half of a row is in sixteen lanes.
    const uint32_t nonzero =
        count_of(at_least(rows[0], 1)) + count_of(at_least(rows[kBlockRows / 2], 1));
    if (warp_sum(device::lane_id() < 16 ? 8 - nonzero : 0) < kSampledZeros) return best;
  }
  const uint32_t nonzero = count_nonzero(rows, 255);
  if (nonzero == 0) return {PlaneMode::kZero, 0, 0};
  if (n - nonzero < n / kFewZeros) return best;
  const uint32_t bits = (n + 7) / 8;
  const auto total = [](const PlaneCost& cost) { return cost.plane_bytes + cost.list_bytes; };
  const PlaneCost sparse = {PlaneMode::kSparse, bits, nonzero};
  if (total(sparse) < total(best)) best = sparse;
  const uint32_t low = count_nonzero(rows, 0x0F), high = count_nonzero(rows, 0xF0);
  const PlaneCost nibbles = {PlaneMode::kNibbles, 2 * bits, (low + 1) / 2 + (high + 1) / 2};
  if (total(nibbles) < total(best)) best = nibbles;
  return best;
}

// Trailing zeros of the low 16 bits of a lane's four values of a row; 16 where all are zero.
__device__ __forceinline__ uint32_t low_zeros(uint32_t low, uint32_t high) {
  uint32_t zeros = 0;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    const uint32_t half = byte_of(low, k) | byte_of(high, k) << 8 | 0x10000;
    zeros |= static_cast<uint32_t>(__ffs(static_cast<int>(half)) - 1) << (8 * k);
  }
  return zeros;
}

struct LowChoice {
  uint32_t table;
  uint32_t bits;
};

__device__ __forceinline__ LowChoice choose_low_table(const EncodeTables& tables,
                                                      const uint32_t (&zeros)[kBlockRows]) {
  const BinCounts counts = count_bins(tables, zeros);
  uint32_t sixteens = 0;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r) sixteens += count_of(at_least(zeros[r], 16));
  sixteens = warp_sum(sixteens);
  const uint32_t lane = device::lane_id();
  const uint32_t prices[4] = {tables.low_price[0][lane], tables.low_price[1][lane],
                              tables.low_price[2][lane], tables.low_price[3][lane]};
  uint32_t cost = weigh(counts, prices) + sixteens * tables.low_other_price[lane];
  if (lane >= kLowTables) cost = 1u << 20;
  const uint32_t key = warp_min(cost << 5 | lane);
  return {key & 31, key >> 5};
}

// How many bits this lane's low halves take.
__device__ __forceinline__ uint32_t low_bits_of(const uint16_t* codes,
                                                const uint32_t (&zeros)[kBlockRows]) {
  uint32_t bits = 0;
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r)
    for (uint32_t k = 0; k < 4; ++k) {
      const uint32_t z = byte_of(zeros[r], k);
      bits += (codes[z] >> 8) + (z < 15 ? 15 - z : 0);
    }
  return bits;
}

// Puts two low byte planes into the low streams where that is cheaper. Their costs are known.
template <class Cut>
__device__ __forceinline__ bool try_low_table(const EncodeTables& tables,
                                              const Block<Cut::kBytes>& columns,
                                              const PlaneCost& plane0, const PlaneCost& plane1,
                                              BlockRecord& record, uint32_t& low_bits) {
  uint32_t zeros[kBlockRows];
#pragma unroll
  for (int r = 0; r < kBlockRowsInt; ++r)
    zeros[r] = low_zeros(columns.word[r][0], columns.word[r][1]);
  const LowChoice choice = choose_low_table(tables, zeros);
  if (choice.bits / 8 >=
      plane0.plane_bytes + plane0.list_bytes + plane1.plane_bytes + plane1.list_bytes)
    return false;
  record.low = static_cast<uint16_t>(kLowTable + choice.table);
  low_bits = low_bits_of(tables.low_code[choice.table], zeros);
  return true;
}

// The byte planes of a block, from the highest down: what is decided first gets the list's room.
template <bool kFull, class Cut, bool kDense>
__device__ __forceinline__ void choose_planes([[maybe_unused]] const EncodeTables& tables,
                                              const Block<Cut::kBytes>& columns, uint32_t n,
                                              uint32_t escape_bytes, BlockRecord& record,
                                              uint32_t& stored_list_bytes,
                                              [[maybe_unused]] uint32_t& low_bits) {
  constexpr int kPlanes = Cut::kPlanes;
  uint32_t list_bytes = escape_bytes;
  PlaneCost costs[kPlanes == 0 ? 1 : kPlanes];
#pragma unroll
  for (int p = kPlanes - 1; p >= 0; --p) {
    uint32_t rows[kBlockRows];
    plane_rows<Cut>(columns, p, rows);
    costs[p] = choose_plane<kFull>(rows, n);
    if (list_bytes + costs[p].list_bytes > kMostListBytes) costs[p] = {PlaneMode::kFull, n, 0};
    list_bytes += costs[p].list_bytes;
  }
  bool low_table = false;
  if constexpr (kFull && kDense && Cut::kBytes == 4) {
    low_table = costs[0].mode != PlaneMode::kFull &&
                try_low_table<Cut>(tables, columns, costs[0], costs[1], record, low_bits);
    if (low_table) list_bytes -= costs[0].list_bytes + costs[1].list_bytes;
  }
  bool sparse = false;
#pragma unroll
  for (int p = 0; p < kPlanes; ++p) {
    if (low_table && p < 2) continue;
    const auto mode = static_cast<uint32_t>(costs[p].mode);
    if (p + 1 == kPlanes)
      record.kind = static_cast<uint8_t>(record.kind | mode << 6);
    else
      record.low = static_cast<uint16_t>(record.low | mode << (2 * p));
    sparse = sparse || costs[p].mode >= PlaneMode::kSparse;
  }
  stored_list_bytes =
      sparse ? static_cast<uint32_t>(round_up(list_bytes, kSparseListUnit)) : list_bytes;
  record.list = static_cast<uint8_t>(
      sparse ? stored_list_bytes / static_cast<uint32_t>(kSparseListUnit) : list_bytes);
}

}  // namespace strait::codec::gpu
