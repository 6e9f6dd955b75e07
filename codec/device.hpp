// The codec on a GPU, for whoever launches it: what the kernels of encode.cu, decode.cu and
// decode_add.cu take, and how they are launched. Each kernel works through an array of jobs with as
// many blocks as it is given (one for each multiprocessor that it may use); teams of warps take the
// jobs in turn. Chunks are those of codec.hpp, byte for byte. Plain data; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "codec/format.hpp"
#include "codec/frame.hpp"

namespace strait::codec {

// All pointers are to memory that the GPU reaches. Values may be anywhere, chunks start at
// multiples of 16.
struct EncodeJob {
  const void* values;
  void* chunk;            // with room for bound(type, count)
  uint32_t* chunk_bytes;  // set when the chunk is complete
  uint32_t count;         // values; less than 4 GiB of them
  DataType type;
  Mode mode;      // the most that is tried
  bool checksum;  // cover the payload
};

struct DecodeJob {
  const void* chunk;
  void* values;
  uint32_t* fault;       // set when done: 0, or what is wrong (chunk_decode.cuh)
  uint32_t chunk_bytes;  // that may be read
  uint32_t count;        // values expected
  DataType type;         // expected
};

// Kernels have the parameters (jobs, count of jobs), those that encode also (scratch). Their names
// are `strait_encode_fast_`, `strait_encode_dense_`, `strait_decode_` (of either mode) and
// `strait_decode_add_` (adds to the values that are there; for half, bfloat16, float and double)
// and the name of the type whose cut they use: kernel_type().
constexpr DataType kernel_type(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
      return DataType::kFloat8e4m3;
    case DataType::kInt32:
    case DataType::kUint32:
      return DataType::kFloat32;
    case DataType::kInt64:
    case DataType::kUint64:
      return DataType::kFloat64;
    default:
      return type;
  }
}

// Threads of a block, and teams among them, of every kernel.
inline constexpr uint32_t kCodecTeamWarps = 4;
inline constexpr uint32_t kCodecTeams = 5;
inline constexpr uint32_t kCodecThreads = 32 * kCodecTeamWarps * kCodecTeams;
// Dynamic shared memory of a block of a kernel that encodes in the dense mode; others take none.
inline constexpr uint32_t kEncodeSharedBytes = kCodecTeams * 32 * 129 * 4;

// Global memory that an encoding kernel needs for each of its blocks, at a multiple of 16.
constexpr size_t encode_scratch_bytes(DataType type) {
  const size_t lists = kTileBlocks * 255 * kSparseListUnit;
  const size_t low = kernel_type(type) == DataType::kFloat32 ? 32 * 369 * 4 : 0;
  return kCodecTeams * (lists + low);
}

}  // namespace strait::codec
