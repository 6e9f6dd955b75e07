#include "perf/device/collective_cases.hpp"

#include <random>

namespace strait::device_check {
namespace {

constexpr Collective kCollectives[] = {Collective::kAllReduce, Collective::kReduce,
                                       Collective::kBroadcast, Collective::kAllGather,
                                       Collective::kReduceScatter};
constexpr ReduceKind kOperations[] = {ReduceKind::kSum, ReduceKind::kProd, ReduceKind::kMax,
                                      ReduceKind::kMin, ReduceKind::kAvg};

}  // namespace

std::string describe(const CollectiveCase& what) {
  const Request& request = what.request;
  return fmt::format("{} of {} {}, {}{}", name_of(request.collective), request.count,
                     name_of(request.type), name_of(request.reduce),
                     what.in_place ? ", in place" : "");
}

std::vector<CollectiveCase> collective_cases(int rank_count, bool tiny) {
  std::vector<CollectiveCase> cases;
  const auto add = [&](Collective collective, DataType type, ReduceKind kind, uint64_t count) {
    cases.push_back({{.collective = collective,
                      .type = type,
                      .reduce = kind,
                      .count = count,
                      .root = static_cast<int>(cases.size()) % rank_count},
                     cases.size() % 3 == 2});
  };
  // Sizes around the borders of accesses, messages and slots, a different one for each call.
  constexpr uint64_t kCounts[] = {1, 7, 500, 4097, 40'000};
  size_t next = 0;
  const auto count = [&] { return kCounts[next++ % (tiny ? 3 : std::size(kCounts))]; };
  for (int type = 0; type < kDataTypeCount; ++type)
    for (const ReduceKind kind : kOperations)
      if (!tiny || (type + static_cast<int>(kind)) % 5 == 0)
        add(Collective::kAllReduce, static_cast<DataType>(type), kind, count());
  for (const Collective collective : kCollectives)
    for (const DataType type : {DataType::kBfloat16, DataType::kFloat32, DataType::kInt64})
      add(collective, type, ReduceKind::kSum, count());
  for (int type = 0; type < kDataTypeCount; ++type)
    add(Collective::kAllToAll, static_cast<DataType>(type), ReduceKind::kSum, count());
  if (!tiny) {
    add(Collective::kAllReduce, DataType::kBfloat16, ReduceKind::kSum, 3'000'001);
    add(Collective::kAllGather, DataType::kFloat32, ReduceKind::kSum, 300'001);
  }
  return cases;
}

std::vector<std::byte> input_of(const CollectiveCase& what, int rank, int rank_count) {
  std::vector<std::byte> bytes(input_count(what.request, rank, rank_count) *
                               size_of(what.request.type));
  std::mt19937 random(static_cast<uint32_t>(rank + 1 + what.request.count % 1000));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 64);
  return bytes;
}

size_t output_bytes(const CollectiveCase& what, int rank, int rank_count) {
  return output_count(what.request, rank, rank_count) * size_of(what.request.type);
}

namespace {

// As frameworks do it. The group ends, whatever happens in it.
Status exchange(const NcclLibrary& nccl, const CollectiveCase& what, int rank_count,
                const void* input, void* output, ncclComm_t comm, cudaStream_t stream) {
  const uint64_t count = what.request.count;
  const uint64_t bytes = count * size_of(what.request.type);
  const auto type = static_cast<ncclDataType_t>(what.request.type);
  const auto* from = static_cast<const std::byte*>(input);
  auto* to = static_cast<std::byte*>(output);
  STRAIT_TRY(nccl.status(nccl.group_start(), "ncclGroupStart", comm));
  Status status;
  for (int peer = 0; peer < rank_count && status.ok(); ++peer, from += bytes, to += bytes) {
    status = nccl.status(nccl.send(from, count, type, peer, comm, stream), "ncclSend", comm);
    if (status.ok())
      status = nccl.status(nccl.receive(to, count, type, peer, comm, stream), "ncclRecv", comm);
  }
  const Status ended = nccl.status(nccl.group_end(), "ncclGroupEnd", comm);
  return status.ok() ? ended : status;
}

}  // namespace

Status call(const NcclLibrary& nccl, const CollectiveCase& what, int rank_count, const void* input,
            void* output, ncclComm_t comm, cudaStream_t stream) {
  const Request& request = what.request;
  const auto type = static_cast<ncclDataType_t>(request.type);
  const auto op = static_cast<ncclRedOp_t>(request.reduce);
  const auto [count, root] = std::pair(request.count, request.root);
  switch (request.collective) {
    case Collective::kAllReduce:
      return nccl.status(nccl.all_reduce(input, output, count, type, op, comm, stream),
                         "ncclAllReduce", comm);
    case Collective::kReduce:
      return nccl.status(nccl.reduce(input, output, count, type, op, root, comm, stream),
                         "ncclReduce", comm);
    case Collective::kBroadcast:
      return nccl.status(nccl.broadcast(input, output, count, type, root, comm, stream),
                         "ncclBroadcast", comm);
    case Collective::kAllGather:
      return nccl.status(nccl.all_gather(input, output, count, type, comm, stream), "ncclAllGather",
                         comm);
    case Collective::kAllToAll:
      return exchange(nccl, what, rank_count, input, output, comm, stream);
    default:
      return nccl.status(nccl.reduce_scatter(input, output, count, type, op, comm, stream),
                         "ncclReduceScatter", comm);
  }
}

}  // namespace strait::device_check
