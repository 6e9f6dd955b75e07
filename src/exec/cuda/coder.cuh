// How a block codes and decodes the chunks of coded edges with the device codec, all warps as one
// team: values of one type in the kernels of collectives (DeviceCoder), of whatever type a lane has
// in that of sends and receives (MessageCoder), and not at all where values travel as they are
// (NoCoder). Device code, for a whole block.
#pragma once

#include "codec/chunk_decode.cuh"
#include "codec/chunk_encode.cuh"
#include "exec/cuda/landing.cuh"

namespace strait::gpu {

static_assert(kCodedSharedBytes == kLaneSharedBytes + 4 * codec::gpu::kExponentWords);

struct NoCoder {
  struct Shared {};
  __device__ NoCoder(const DeviceCall&, const DeviceLane&, Shared&) {}
  __device__ static void prepare(Shared&) {}
  static constexpr bool kCodes = false;
  __device__ static bool encodes() { return false; }
  __device__ static bool decodes() { return false; }
  __device__ unsigned char* leaving() const { return nullptr; }
  __device__ uint32_t encode(const unsigned char*, uint64_t, unsigned char*, DeviceCoding) const {
    return 0;
  }
  template <class N>
  __device__ uint32_t decode(const unsigned char*, uint64_t, uint64_t, const Landing<N>&) const {
    return 0;
  }
};

using CoderTeam = codec::gpu::Team<kCodedThreads / 32>;

struct CoderShared {
  codec::gpu::EncodeTables encode_tables;
  codec::gpu::DecodeTables decode_tables;
  union {  // what the warps tell each other, of one chunk at a time
    codec::gpu::EncodeShared<CoderTeam::kWarps> encode;
    codec::gpu::DecodeShared<CoderTeam::kWarps> decode;
  };
};

// What does not depend on the type. The staging of a lane that encodes: values that leave, then the
// coder's scratch.
class ChunkCoder {
 public:
  static constexpr bool kCodes = true;
  using Shared = CoderShared;

  // Once per block, with all threads.
  __device__ static void prepare(Shared& shared) {
    codec::gpu::copy_tables(codec::gpu::kEncodeTables, shared.encode_tables);
    codec::gpu::copy_tables(codec::gpu::kDecodeTables, shared.decode_tables);
  }

  __device__ unsigned char* leaving() const { return base_; }

 protected:
  __device__ ChunkCoder(const DeviceCall& call, const DeviceLane& lane, DataType type,
                        Shared& shared)
      : shared_(shared),
        team_{threadIdx.x / 32, kBarrier},
        base_(lane.staging == kNoStaging ? nullptr : call.staging + lane.staging) {
    if (lane.staging == kNoStaging) return;
    scratch_.lists = reinterpret_cast<std::byte*>(base_ + lane.staging_stride);
    scratch_.exponents = reinterpret_cast<uint32_t*>(device::dynamic_shared() + kLaneSharedBytes);
    clear(scratch_.exponents, codec::gpu::kExponentWords);
    if (type == DataType::kFloat32) {
      constexpr uint32_t kLists = codec::gpu::list_room(codec::shape_of(DataType::kFloat32));
      scratch_.low = reinterpret_cast<uint32_t*>(scratch_.lists + kLists);
      clear(scratch_.low, codec::gpu::kLowWords);
    }
    __syncthreads();
  }

  // Returns the chunk's bytes.
  template <DataType kType>
  __device__ uint32_t encode_as(const unsigned char* values, uint64_t count, unsigned char* chunk,
                                DeviceCoding coding) {
    return static_cast<codec::Mode>(coding.mode) == codec::Mode::kDense
               ? encode_by<kType, codec::gpu::Encoder<true>>(values, count, chunk, coding)
               : encode_by<kType, codec::gpu::Encoder<false>>(values, count, chunk, coding);
  }

  // Returns what is wrong, or 0.
  template <DataType kType, class Sink>
  __device__ uint32_t decode_as(const unsigned char* chunk, uint64_t bytes, uint64_t count,
                                const Sink& sink) const {
    using Cut = codec::gpu::Cut<kType>;
    const codec::gpu::ChunkDecoder<Cut, CoderTeam> decoder(
        codec::gpu::in_shared(shared_.decode_tables), team_, shared_.decode);
    const codec::gpu::ChunkForm form = {kType, codec::Mode::kDense, false,
                                        static_cast<uint32_t>(count), Cut::kBytes};
    return static_cast<uint32_t>(decoder.decode(reinterpret_cast<const std::byte*>(chunk),
                                                static_cast<uint32_t>(bytes), form, true, sink));
  }

  // Of a type that is never coded: a chunk of so many bytes of values. Returns what is wrong, or 0.
  __device__ STRAIT_OWN_LOOP uint32_t copy_whole(const unsigned char* chunk, uint64_t bytes,
                                                 uint64_t value_bytes,
                                                 unsigned char* target) const {
    const uint32_t count = reinterpret_cast<const uint32_t*>(chunk)[codec::kCountAt / 4];
    const codec::gpu::ChunkForm form = {
        static_cast<DataType>(chunk[codec::kTypeAt]), codec::Mode::kRaw, false, count,
        count == 0 ? 0 : static_cast<uint32_t>(value_bytes / count)};
    const codec::gpu::OpenedChunk opened = codec::gpu::open_chunk(
        team_, shared_.decode.reduced, reinterpret_cast<const std::byte*>(chunk),
        static_cast<uint32_t>(bytes), form, false);
    if (opened.fault != codec::gpu::Fault::kNone) return static_cast<uint32_t>(opened.fault);
    if (uint64_t{form.value_bytes} * count != value_bytes)
      return static_cast<uint32_t>(codec::gpu::Fault::kForm);
    const unsigned char* const values = chunk + codec::gpu::kHeaderBytes;
    if (opened.mode == codec::Mode::kRaw)
      copy_narrow<Uint8>({.target = target}, values, value_bytes,
                         aligned16(target, values, nullptr, nullptr));
    else
      for (uint64_t i = threadIdx.x; i < value_bytes; i += blockDim.x) target[i] = 0;
    return 0;
  }

 private:
  static constexpr uint32_t kBarrier = 1;

  // A function of its own for each mode, so that neither takes the other's registers.
  template <DataType kType, class Encoder>
  __device__ __attribute__((noinline)) uint32_t encode_by(const unsigned char* values,
                                                          uint64_t count, unsigned char* chunk,
                                                          DeviceCoding coding) {
    using Cut = codec::gpu::Cut<kType>;
    const Encoder encoder = {codec::gpu::in_shared(shared_.encode_tables)};
    codec::gpu::ChunkEncoder<Cut, CoderTeam, Encoder> chunk_encoder(encoder, team_, shared_.encode,
                                                                    scratch_);
    const codec::gpu::ChunkForm form = {kType, static_cast<codec::Mode>(coding.mode),
                                        coding.checksum != 0, static_cast<uint32_t>(count),
                                        Cut::kBytes};
    codec::gpu::MemorySource<Cut::kBytes> source(reinterpret_cast<const std::byte*>(values));
    return chunk_encoder.encode(source, form, true, reinterpret_cast<std::byte*>(chunk));
  }

  __device__ static void clear(uint32_t* words, uint32_t count) {
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) words[i] = 0;
  }

  Shared& shared_;
  const CoderTeam team_;
  unsigned char* const base_;
  codec::gpu::Scratch scratch_;
};

// All values are of the kernel's type.
template <DataType kType>
class DeviceCoder : public ChunkCoder {
 public:
  __device__ DeviceCoder(const DeviceCall& call, const DeviceLane& lane, Shared& shared)
      : ChunkCoder(call, lane, kType, shared) {}

  __device__ static bool encodes() { return true; }
  __device__ static bool decodes() { return true; }
  __device__ uint32_t encode(const unsigned char* values, uint64_t count, unsigned char* chunk,
                             DeviceCoding coding) {
    return encode_as<kType>(values, count, chunk, coding);
  }
  template <class N>
  __device__ uint32_t decode(const unsigned char* chunk, uint64_t bytes, uint64_t count,
                             const Landing<N>& landing) const {
    return decode_as<kType>(chunk, bytes, count, LandingSink<N>(landing));
  }
};

// Counts are bytes. What leaves is of the lane's type, and coded here if that is a float type; what
// arrives is of whatever type its chunk says, and goes to its target as it is.
class MessageCoder : public ChunkCoder {
 public:
  __device__ MessageCoder(const DeviceCall& call, const DeviceLane& lane, Shared& shared)
      : ChunkCoder(call, lane, static_cast<DataType>(lane.type), shared),
        type_(static_cast<DataType>(lane.type)) {}

  __device__ bool encodes() const { return codec::shape_of(type_).exponent_bits != 0; }
  __device__ static bool decodes() { return true; }

  // Both are calls, as what they choose from is, so that the interpreter around them keeps little.
  __device__ STRAIT_OWN_LOOP uint32_t encode(const unsigned char* values, uint64_t bytes,
                                             unsigned char* chunk, DeviceCoding coding) {
    switch (type_) {
      case DataType::kFloat16:
        return encode_as<DataType::kFloat16>(values, bytes / 2, chunk, coding);
      case DataType::kBfloat16:
        return encode_as<DataType::kBfloat16>(values, bytes / 2, chunk, coding);
      case DataType::kFloat32:
        return encode_as<DataType::kFloat32>(values, bytes / 4, chunk, coding);
      case DataType::kFloat64:
        return encode_as<DataType::kFloat64>(values, bytes / 8, chunk, coding);
      case DataType::kFloat8e4m3:
        return encode_as<DataType::kFloat8e4m3>(values, bytes, chunk, coding);
      case DataType::kFloat8e5m2:
        return encode_as<DataType::kFloat8e5m2>(values, bytes, chunk, coding);
      default:
        return 0;
    }
  }
  template <class N>
  __device__ STRAIT_OWN_LOOP uint32_t decode(const unsigned char* chunk, uint64_t bytes,
                                             uint64_t value_bytes,
                                             const Landing<N>& landing) const {
    unsigned char* const target = landing.out.target;
    if (bytes < codec::gpu::kHeaderBytes) return static_cast<uint32_t>(codec::gpu::Fault::kHeader);
    switch (static_cast<DataType>(chunk[codec::kTypeAt])) {
      case DataType::kFloat16:
        return copy_as<DataType::kFloat16>(chunk, bytes, value_bytes, target);
      case DataType::kBfloat16:
        return copy_as<DataType::kBfloat16>(chunk, bytes, value_bytes, target);
      case DataType::kFloat32:
        return copy_as<DataType::kFloat32>(chunk, bytes, value_bytes, target);
      case DataType::kFloat64:
        return copy_as<DataType::kFloat64>(chunk, bytes, value_bytes, target);
      case DataType::kFloat8e4m3:
        return copy_as<DataType::kFloat8e4m3>(chunk, bytes, value_bytes, target);
      case DataType::kFloat8e5m2:
        return copy_as<DataType::kFloat8e5m2>(chunk, bytes, value_bytes, target);
      default:
        return copy_whole(chunk, bytes, value_bytes, target);
    }
  }

 private:
  template <DataType kType>
  __device__ STRAIT_OWN_LOOP uint32_t copy_as(const unsigned char* chunk, uint64_t bytes,
                                              uint64_t value_bytes, unsigned char* target) const {
    constexpr int kBytes = codec::gpu::Cut<kType>::kBytes;
    if (value_bytes % kBytes != 0) return static_cast<uint32_t>(codec::gpu::Fault::kForm);
    return decode_as<kType>(chunk, bytes, value_bytes / kBytes,
                            codec::gpu::MemorySink<kBytes>(target));
  }

  const DataType type_;
};

}  // namespace strait::gpu
