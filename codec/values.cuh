// Values in memory, at any address: a lane reads and writes its four of a row with one access of up
// to 16 bytes (two for double) where the address allows, value by value or byte by byte elsewhere.
// MemorySource is what an encoder reads from, MemorySink what a decoder writes to; anything with
// their members may stand in their place, to add on the way, or to read from a decoder. Device
// code; every lane of a warp calls together.
#pragma once

#include "codec/cut.cuh"

namespace strait::codec::gpu {

template <int kBytes>
struct WordOf;  // of one value, or the part of it that one access can move
template <>
struct WordOf<1> {
  using Type = uint8_t;
};
template <>
struct WordOf<2> {
  using Type = uint16_t;
};
template <>
struct WordOf<4> {
  using Type = uint32_t;
};
template <>
struct WordOf<8> {
  using Type = uint32_t;
};

enum class Access : uint8_t { kRow, kValue, kByte };

template <int kBytes>
__device__ __forceinline__ Access access_to(const void* values) {
  const auto address = reinterpret_cast<uintptr_t>(values);
  constexpr uint32_t kRow = kBytes < 4 ? 4 * kBytes : 16;
  if (address % kRow == 0) return Access::kRow;
  return address % sizeof(typename WordOf<kBytes>::Type) == 0 ? Access::kValue : Access::kByte;
}

// Four values with one access.
template <int kBytes>
__device__ __forceinline__ void load_row(const std::byte* at, uint32_t (&row)[kBytes]) {
  if constexpr (kBytes == 1) {
    row[0] = *reinterpret_cast<const uint32_t*>(at);
  } else if constexpr (kBytes == 2) {
    const uint2 two = *reinterpret_cast<const uint2*>(at);
    row[0] = two.x;
    row[1] = two.y;
  } else {
#pragma unroll
    for (int w = 0; w < kBytes; w += 4) {
      const uint4 four = device::load16(at + 4 * w);
      row[w] = four.x;
      row[w + 1] = four.y;
      row[w + 2] = four.z;
      row[w + 3] = four.w;
    }
  }
}

template <int kBytes>
__device__ __forceinline__ void store_row(std::byte* at, const uint32_t (&row)[kBytes]) {
  if constexpr (kBytes == 1) {
    *reinterpret_cast<uint32_t*>(at) = row[0];
  } else if constexpr (kBytes == 2) {
    *reinterpret_cast<uint2*>(at) = make_uint2(row[0], row[1]);
  } else {
#pragma unroll
    for (int w = 0; w < kBytes; w += 4)
      device::store16(at + 4 * w, make_uint4(row[w], row[w + 1], row[w + 2], row[w + 3]));
  }
}

// The first `count` of four values in parts of one access each; zeros for the others.
template <int kBytes, class Part>
__device__ __forceinline__ void load_parts(const std::byte* at, uint32_t count,
                                           uint32_t (&row)[kBytes]) {
  constexpr int kPart = sizeof(Part), kParts = 4 * kBytes / kPart;
#pragma unroll
  for (int w = 0; w < kBytes; ++w) row[w] = 0;
#pragma unroll
  for (int p = 0; p < kParts; ++p)
    if (p * kPart < static_cast<int>(count) * kBytes)
      row[p * kPart / 4] |= uint32_t{reinterpret_cast<const Part*>(at)[p]} << (8 * (p * kPart % 4));
}

template <int kBytes, class Part>
__device__ __forceinline__ void store_parts(std::byte* at, uint32_t count,
                                            const uint32_t (&row)[kBytes]) {
  constexpr int kPart = sizeof(Part), kParts = 4 * kBytes / kPart;
#pragma unroll
  for (int p = 0; p < kParts; ++p)
    if (p * kPart < static_cast<int>(count) * kBytes)
      reinterpret_cast<Part*>(at)[p] =
          static_cast<Part>(row[p * kPart / 4] >> (8 * (p * kPart % 4)));
}

// How many of a lane's values of row r belong to a block of n.
__device__ __forceinline__ uint32_t values_in_row(uint32_t n, int r) {
  const uint32_t first = static_cast<uint32_t>(r) * kRowValues + 4 * device::lane_id();
  return n <= first ? 0 : min(n - first, 4u);
}

template <int kBytes>
class MemorySource {
 public:
  __device__ explicit MemorySource(const void* values)
      : values_(static_cast<const std::byte*>(values)), access_(access_to<kBytes>(values)) {}

  // A full block will be read: its bytes are on their way to the second cache.
  __device__ __forceinline__ void fetch_ahead(uint32_t first) const {
    constexpr uint32_t kSector = 32, kShare = kBlockValues * kBytes / kWarpLanes;
    const std::byte* const at = values_ + (first * kBytes + kShare * device::lane_id());
#pragma unroll
    for (uint32_t byte = 0; byte < kShare; byte += kSector) device::fetch_ahead(at + byte);
  }

  // The n values of a block, of which the first is value number `first` of the chunk.
  template <bool kFull>
  __device__ __forceinline__ void read(uint32_t first, uint32_t n, Block<kBytes>& block) const {
    const std::byte* at = values_ + (first + 4 * device::lane_id()) * kBytes;
    if (kFull && access_ == Access::kRow) {
#pragma unroll
      for (int r = 0; r < kBlockRowsInt; ++r) load_row<kBytes>(at + r * kRowBytes, block.word[r]);
    } else if (access_ != Access::kByte) {
      read_parts<kFull, typename WordOf<kBytes>::Type>(at, n, block);
    } else {
      read_parts<kFull, uint8_t>(at, n, block);
    }
  }

 private:
  static constexpr int kRowBytes = static_cast<int>(kRowValues) * kBytes;

  template <bool kFull, class Part>
  static __device__ __forceinline__ void read_parts(const std::byte* at, uint32_t n,
                                                    Block<kBytes>& block) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r)
      load_parts<kBytes, Part>(at + r * kRowBytes, kFull ? 4 : values_in_row(n, r), block.word[r]);
  }

  const std::byte* values_;
  Access access_;
};

template <int kBytes>
struct ZeroSource {
  template <bool kFull>
  __device__ __forceinline__ void read(uint32_t, uint32_t, Block<kBytes>& block) const {
    block = {};
  }
};

template <int kBytes>
class MemorySink {
 public:
  __device__ explicit MemorySink(void* values)
      : values_(static_cast<std::byte*>(values)), access_(access_to<kBytes>(values)) {}

  template <bool kFull>
  __device__ __forceinline__ void write(uint32_t first, uint32_t n,
                                        const Block<kBytes>& block) const {
    std::byte* at = values_ + (first + 4 * device::lane_id()) * kBytes;
    if (kFull && access_ == Access::kRow) {
#pragma unroll
      for (int r = 0; r < kBlockRowsInt; ++r) store_row<kBytes>(at + r * kRowBytes, block.word[r]);
    } else if (access_ != Access::kByte) {
      write_parts<kFull, typename WordOf<kBytes>::Type>(at, n, block);
    } else {
      write_parts<kFull, uint8_t>(at, n, block);
    }
  }

 private:
  static constexpr int kRowBytes = static_cast<int>(kRowValues) * kBytes;

  template <bool kFull, class Part>
  static __device__ __forceinline__ void write_parts(std::byte* at, uint32_t n,
                                                     const Block<kBytes>& block) {
#pragma unroll
    for (int r = 0; r < kBlockRowsInt; ++r)
      store_parts<kBytes, Part>(at + r * kRowBytes, kFull ? 4 : values_in_row(n, r), block.word[r]);
  }

  std::byte* values_;
  Access access_;
};

}  // namespace strait::codec::gpu
