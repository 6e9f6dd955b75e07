// One collective as a test calls it, on ranks of hosts or on GPUs of the stand-in: what each rank's
// memory holds afterwards, bit for bit. Slow and obvious; a world of ranks per case.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <random>

#include "api/cuda/gpu_rank.hpp"
#include "api/values.hpp"
#include "base/types.hpp"
#include "plan/request.hpp"

namespace strait::test {

using Bytes = std::vector<std::byte>;

enum class Scalar { kNone, kHost, kDevice };  // of a pre-mul-sum

struct Case {
  Request request;
  int op = ncclSum;
  int ranks = 2;
  Settings settings = {};
  bool in_place = false;
  size_t misaligned = 0;  // elements before each buffer
  Scalar scalar = Scalar::kNone;
  int devices = 4;
};

inline std::string describe(const Case& what) {
  std::string text = fmt::format(
      "{} of {} {}, root {}, operation {}, {} ranks{}{}", name_of(what.request.collective),
      what.request.count, name_of(what.request.type), what.request.root, what.op, what.ranks,
      what.in_place ? ", in place" : "", what.misaligned != 0 ? ", misaligned" : "");
  for (const auto& [name, value] : what.settings) text += fmt::format(", {}={}", name, value);
  return text;
}

// Where a rank's buffers lie in its memory.
struct Layout {
  size_t input_at;
  size_t output_at;
  size_t input_bytes;
  size_t bytes;
};

inline Layout layout_of(const Case& what, int rank) {
  const size_t element = size_of(what.request.type);
  const size_t before = what.misaligned * element;
  const size_t in = input_count(what.request, rank, what.ranks) * element;
  const size_t out = output_count(what.request, rank, what.ranks) * element;
  const auto offset = in_place_offset(what.request, rank, what.ranks);
  if (what.in_place && offset) {
    const int64_t at = *offset * static_cast<int64_t>(element);
    const size_t input_at = before + static_cast<size_t>(std::max<int64_t>(at, 0));
    const size_t output_at = before + static_cast<size_t>(std::max<int64_t>(-at, 0));
    return {input_at, output_at, in, std::max(input_at + in, output_at + out)};
  }
  const size_t output_at = (before + in + 255) / 256 * 256 + before;
  return {before, output_at, in, output_at + out};
}

// Small enough that no type overflows in every sum, and different everywhere.
inline Bytes memory_of(const Case& what, int rank) {
  const Layout layout = layout_of(what, rank);
  Bytes values(layout.bytes, std::byte{0x2a});
  std::mt19937 random(static_cast<uint32_t>(rank + 1));
  for (size_t i = 0; i < layout.input_bytes; ++i)
    values[layout.input_at + i] = static_cast<std::byte>(random() % 64);
  return values;
}

inline ncclResult_t call(const Case& what, std::byte* memory, const Layout& layout, int op,
                         ncclComm_t comm, cudaStream_t stream) {
  const void* in = memory + layout.input_at;
  void* out = memory + layout.output_at;
  const Request& request = what.request;
  const auto type = static_cast<ncclDataType_t>(request.type);
  const auto reduction = static_cast<ncclRedOp_t>(op);
  switch (request.collective) {
    case Collective::kAllReduce:
      return ncclAllReduce(in, out, request.count, type, reduction, comm, stream);
    case Collective::kReduce:
      return ncclReduce(in, out, request.count, type, reduction, request.root, comm, stream);
    case Collective::kBroadcast:
      return ncclBroadcast(in, out, request.count, type, request.root, comm, stream);
    case Collective::kAllGather:
      return ncclAllGather(in, out, request.count, type, comm, stream);
    case Collective::kReduceScatter:
      return ncclReduceScatter(in, out, request.count, type, reduction, comm, stream);
    case Collective::kAllToAll:
      return ncclAlltoAll(in, out, request.count, type, comm, stream);
    case Collective::kGather:
      return ncclGather(in, out, request.count, type, request.root, comm, stream);
    default:
      return ncclScatter(in, out, request.count, type, request.root, comm, stream);
  }
}

// Calls with the operation that the case wants. `scalar` is one element where the case says.
inline ncclResult_t call_with_operation(const Case& what, std::byte* memory, int rank, void* scalar,
                                        ncclComm_t comm, cudaStream_t stream) {
  const Layout layout = layout_of(what, rank);
  if (what.scalar == Scalar::kNone) return call(what, memory, layout, what.op, comm, stream);
  ncclRedOp_t op{};
  const auto residence =
      what.scalar == Scalar::kDevice ? ncclScalarDevice : ncclScalarHostImmediate;
  const ncclResult_t made = ncclRedOpCreatePreMulSum(
      &op, scalar, static_cast<ncclDataType_t>(what.request.type), residence, comm);
  if (made != ncclSuccess) return made;
  const ncclResult_t called = call(what, memory, layout, op, comm, stream);
  const ncclResult_t destroyed = ncclRedOpDestroy(op, comm);
  return called == ncclSuccess ? destroyed : called;
}

inline Bytes scalar_of(const Case& what) {
  Bytes scalar(8);
  put_value(2, what.request.type, scalar.data());
  return scalar;
}

inline std::vector<Bytes> on_hosts(const Case& what) {
  std::vector<Bytes> found(static_cast<size_t>(what.ranks));
  Settings settings = what.settings;
  settings["STRAIT_DEVICE"] = "host";
  run_world(what.ranks, settings, [&](int rank, ncclComm_t comm) {
    Bytes memory = memory_of(what, rank);
    Bytes scalar = scalar_of(what);
    EXPECT_EQ(call_with_operation(what, memory.data(), rank, scalar.data(), comm, nullptr),
              ncclSuccess)
        << ncclGetLastError(comm);
    found[static_cast<size_t>(rank)] = std::move(memory);
  });
  return found;
}

// What one rank on a GPU finds in its memory.
inline Bytes on_gpu(const Case& what, int rank, const GpuRank& gpu, ncclComm_t comm) {
  const Bytes values = memory_of(what, rank);
  const cuda::DeviceMemory memory = gpu.memory(values);
  Bytes scalar = scalar_of(what);
  const cuda::DeviceMemory device_scalar = gpu.memory(scalar);
  void* const factor = what.scalar == Scalar::kDevice ? device_scalar.data() : scalar.data();
  EXPECT_EQ(call_with_operation(what, static_cast<std::byte*>(memory.data()), rank, factor, comm,
                                gpu.stream()),
            ncclSuccess)
      << ncclGetLastError(comm);
  const Status done = gpu.wait();
  EXPECT_TRUE(done.ok()) << done.message();
  return gpu.read(memory, values.size());
}

inline std::vector<Bytes> on_gpus(const Case& what) {
  std::vector<Bytes> found(static_cast<size_t>(what.ranks));
  run_gpus(what.ranks, what.devices, what.settings, [&](int rank, GpuRank& gpu, ncclComm_t comm) {
    found[static_cast<size_t>(rank)] = on_gpu(what, rank, gpu, comm);
  });
  return found;
}

// Two memories with one sum have, for a test, the same bits (FNV-1a).
inline uint64_t sum_of(const Bytes& bytes) {
  uint64_t sum = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) sum = (sum ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  return sum;
}

inline void expect_same_bits(const Case& what) {
  SCOPED_TRACE(describe(what));
  const auto expected = on_hosts(what);
  const auto found = on_gpus(what);
  for (size_t rank = 0; rank < expected.size(); ++rank)
    ASSERT_EQ(found[rank], expected[rank]) << "rank " << rank;
}

}  // namespace strait::test
