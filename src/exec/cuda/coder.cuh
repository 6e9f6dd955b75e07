// How a block codes and decodes the chunks of coded edges: DeviceCoder with the device codec, all
// warps as one team; NoCoder where values travel as they are, or the proxy codes them. Device code,
// for a whole block.
#pragma once

#include "codec/chunk_decode.cuh"
#include "codec/chunk_encode.cuh"
#include "exec/cuda/device_call.hpp"

namespace strait::gpu {

static_assert(kCodedSharedBytes == kLaneSharedBytes + 4 * codec::gpu::kExponentWords);

struct NoCoder {
  static constexpr bool kCodes = false;
  struct Shared {};
  __device__ NoCoder(const DeviceCall&, const DeviceLane&, Shared&) {}
  __device__ static void prepare(Shared&) {}
  __device__ unsigned char* arriving() const { return nullptr; }
  __device__ unsigned char* leaving() const { return nullptr; }
  __device__ uint32_t encode(const unsigned char*, uint64_t, unsigned char*) const { return 0; }
  __device__ uint32_t decode(const unsigned char*, uint64_t, uint64_t, unsigned char*) const {
    return 0;
  }
};

// The staging of a lane (DeviceLane::staging): what arrives, what leaves, the coder's scratch.
template <DataType kType>
class DeviceCoder {
 public:
  static constexpr bool kCodes = true;
  using Team = codec::gpu::Team<kCodedThreads / 32>;
  using Cut = codec::gpu::Cut<kType>;
  struct Shared {
    codec::gpu::EncodeTables encode_tables;
    codec::gpu::DecodeTables decode_tables;
    codec::gpu::EncodeShared<Team::kWarps> encode;
    codec::gpu::DecodeShared<Team::kWarps> decode;
  };

  // Once per block, with all threads.
  __device__ static void prepare(Shared& shared) {
    codec::gpu::copy_tables(codec::gpu::kEncodeTables, shared.encode_tables);
    codec::gpu::copy_tables(codec::gpu::kDecodeTables, shared.decode_tables);
  }

  __device__ DeviceCoder(const DeviceCall& call, const DeviceLane& lane, Shared& shared)
      : call_(call),
        lane_(lane),
        shared_(shared),
        team_{threadIdx.x / 32, kBarrier},
        base_(call.staging + lane.staging) {
    scratch_.lists = reinterpret_cast<std::byte*>(base_ + 2 * lane.staging_stride);
    scratch_.exponents = reinterpret_cast<uint32_t*>(device::dynamic_shared() + kLaneSharedBytes);
    clear(scratch_.exponents, codec::gpu::kExponentWords);
    if constexpr (kType == DataType::kFloat32) {
      constexpr uint32_t kLists = codec::gpu::list_room(codec::shape_of(kType));
      scratch_.low = reinterpret_cast<uint32_t*>(scratch_.lists + kLists);
      clear(scratch_.low, codec::gpu::kLowWords);
    }
    __syncthreads();
  }

  __device__ unsigned char* arriving() const { return base_; }
  __device__ unsigned char* leaving() const { return base_ + lane_.staging_stride; }

  // Returns the chunk's bytes.
  __device__ uint32_t encode(const unsigned char* values, uint64_t count, unsigned char* chunk) {
    return static_cast<codec::Mode>(call_.coding_mode) == codec::Mode::kDense
               ? encode_by<codec::gpu::Encoder<true>>(values, count, chunk)
               : encode_by<codec::gpu::Encoder<false>>(values, count, chunk);
  }

  // Returns what is wrong, or 0.
  __device__ uint32_t decode(const unsigned char* chunk, uint64_t bytes, uint64_t count,
                             unsigned char* values) const {
    const codec::gpu::ChunkDecoder<Cut, Team> decoder(shared_.decode_tables, team_, shared_.decode);
    const codec::gpu::ChunkForm form = {kType, codec::Mode::kDense, false,
                                        static_cast<uint32_t>(count), Cut::kBytes};
    const codec::gpu::Fault fault = decoder.decode(
        reinterpret_cast<const std::byte*>(chunk), static_cast<uint32_t>(bytes), form, true,
        codec::gpu::MemorySink<Cut::kBytes>(reinterpret_cast<std::byte*>(values)));
    return static_cast<uint32_t>(fault);
  }

 private:
  static constexpr uint32_t kBarrier = 1;

  // A function of its own for each mode, so that neither takes the other's registers.
  template <class Encoder>
  __device__ __attribute__((noinline)) uint32_t encode_by(const unsigned char* values,
                                                          uint64_t count, unsigned char* chunk) {
    const Encoder encoder = {shared_.encode_tables};
    codec::gpu::ChunkEncoder<Cut, Team, Encoder> chunk_encoder(encoder, team_, shared_.encode,
                                                               scratch_);
    const codec::gpu::ChunkForm form = {kType, static_cast<codec::Mode>(call_.coding_mode),
                                        call_.checksum != 0, static_cast<uint32_t>(count),
                                        Cut::kBytes};
    codec::gpu::MemorySource<Cut::kBytes> source(reinterpret_cast<const std::byte*>(values));
    return chunk_encoder.encode(source, form, true, reinterpret_cast<std::byte*>(chunk));
  }

  __device__ static void clear(uint32_t* words, uint32_t count) {
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) words[i] = 0;
  }

  const DeviceCall& call_;
  const DeviceLane& lane_;
  Shared& shared_;
  const Team team_;
  unsigned char* const base_;
  codec::gpu::Scratch scratch_;
};

}  // namespace strait::gpu
