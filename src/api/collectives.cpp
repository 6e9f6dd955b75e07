// The collective calls: check the arguments, make a Request, hand it to the calling thread's group.

#include <fmt/format.h>

#include <algorithm>

#include "api/export.hpp"
#include "api/handle.hpp"
#include "api/reduction.hpp"
#include "api/result.hpp"
#include "comm/group.hpp"
#include "nccl.h"

namespace strait::api {
namespace {

struct Arguments {
  Collective collective;
  const void* input;
  void* output;
  size_t count;
  ncclDataType_t type;
  int op;
  int root;  // or peer
  ncclComm_t comm;
  cudaStream_t stream;
};

Status check_buffer(const char* name, const void* pointer, uint64_t elements) {
  if (pointer != nullptr || elements == 0) return Status();
  return error(Code::kInvalidArgument, "{} is NULL but {} elements are needed there", name,
               elements);
}

// More than a process can address: such a count is a mistake, and its bytes may not fit 64 bits.
constexpr uint64_t kBufferBytesMax = uint64_t{1} << 48;

Status check_count(const Request& request, int rank_count) {
  Request one = request;
  one.count = 1;
  const uint64_t blocks = std::max(input_count(one, request.root, rank_count),
                                   output_count(one, request.root, rank_count));
  if (request.count <= kBufferBytesMax / size_of(request.type) / blocks) return Status();
  return error(Code::kInvalidArgument,
               "count {} needs a buffer larger than a process can address; count elements of {}, "
               "and see that no negative number was passed",
               request.count, name_of(request.type));
}

Result<Operation> check(const Arguments& arguments, Handle& handle) {
  const Communicator& comm = *handle.comm;
  if (arguments.type < 0 || arguments.type >= ncclNumTypes)
    return error(Code::kInvalidArgument, "data type {} is none of NCCL's (0 to {})",
                 static_cast<int>(arguments.type), ncclNumTypes - 1);
  if (arguments.root < 0 || arguments.root >= comm.rank_count())
    return error(Code::kInvalidArgument, "root or peer {} is not among the {} ranks (0 to {})",
                 arguments.root, comm.rank_count(), comm.rank_count() - 1);
  Request request{.collective = arguments.collective,
                  .type = static_cast<DataType>(arguments.type),
                  .reduce = ReduceKind::kSum,
                  .count = arguments.count,
                  .root = arguments.root};
  STRAIT_ASSIGN(const Reduction reduction, find_reduction(arguments.op, request.type, handle));
  request.reduce = reduction.kind;
  STRAIT_TRY(check_count(request, comm.rank_count()));
  STRAIT_TRY(check_buffer("sendbuff", arguments.input,
                          input_count(request, comm.rank(), comm.rank_count())));
  STRAIT_TRY(check_buffer("recvbuff", arguments.output,
                          output_count(request, comm.rank(), comm.rank_count())));
  return make_operation(request, comm.rank_count(), reduction.scalar.data(), arguments.input,
                        arguments.output);
}

Status enqueue(const Arguments& arguments) {
  Group& group = Group::current();
  auto handle = find_handle(arguments.comm);
  if (!handle.ok()) return group.refuse(handle.status());
  if ((*handle)->finalized)
    return group.refuse(
        error(Code::kInvalidUsage, "the communicator was finalized: make a new one"));
  if (const Status failure = (*handle)->comm->failure(); !failure.ok())
    return group.refuse(failure);
  auto operation = check(arguments, **handle);
  if (!operation.ok())
    return group.refuse(operation.status().at(fmt::format("rank {}", (*handle)->comm->rank())));
  return group.submit((*handle)->comm, *operation, arguments.stream);
}

ncclResult_t call(const char* function, const Arguments& arguments) {
  return guarded(function, [&] { return enqueue(arguments); });
}

}  // namespace
}  // namespace strait::api

using strait::Collective;
using strait::api::call;

STRAIT_API(ncclResult_t, AllReduce,
           (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)) {
  return call("ncclAllReduce",
              {Collective::kAllReduce, sendbuff, recvbuff, count, datatype, op, 0, comm, stream});
}

STRAIT_API(ncclResult_t, Reduce,
           (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
            ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)) {
  return call("ncclReduce",
              {Collective::kReduce, sendbuff, recvbuff, count, datatype, op, root, comm, stream});
}

STRAIT_API(ncclResult_t, Broadcast,
           (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
            ncclComm_t comm, cudaStream_t stream)) {
  return call("ncclBroadcast", {Collective::kBroadcast, sendbuff, recvbuff, count, datatype,
                                ncclSum, root, comm, stream});
}

STRAIT_API(ncclResult_t, Bcast,
           (void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
            cudaStream_t stream)) {
  return call("ncclBcast",
              {Collective::kBroadcast, buff, buff, count, datatype, ncclSum, root, comm, stream});
}

STRAIT_API(ncclResult_t, ReduceScatter,
           (const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)) {
  return call("ncclReduceScatter", {Collective::kReduceScatter, sendbuff, recvbuff, recvcount,
                                    datatype, op, 0, comm, stream});
}

STRAIT_API(ncclResult_t, AllGather,
           (const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
            ncclComm_t comm, cudaStream_t stream)) {
  return call("ncclAllGather", {Collective::kAllGather, sendbuff, recvbuff, sendcount, datatype,
                                ncclSum, 0, comm, stream});
}

STRAIT_API(ncclResult_t, AlltoAll,
           (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
            ncclComm_t comm, cudaStream_t stream)) {
  return call("ncclAlltoAll", {Collective::kAllToAll, sendbuff, recvbuff, count, datatype, ncclSum,
                               0, comm, stream});
}

STRAIT_API(ncclResult_t, Gather,
           (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
            ncclComm_t comm, cudaStream_t stream)) {
  return call("ncclGather", {Collective::kGather, sendbuff, recvbuff, count, datatype, ncclSum,
                             root, comm, stream});
}

STRAIT_API(ncclResult_t, Scatter,
           (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
            ncclComm_t comm, cudaStream_t stream)) {
  return call("ncclScatter", {Collective::kScatter, sendbuff, recvbuff, count, datatype, ncclSum,
                              root, comm, stream});
}

STRAIT_API(ncclResult_t, Send,
           (const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
            cudaStream_t stream)) {
  return call("ncclSend",
              {Collective::kSend, sendbuff, nullptr, count, datatype, ncclSum, peer, comm, stream});
}

STRAIT_API(ncclResult_t, Recv,
           (void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
            cudaStream_t stream)) {
  return call("ncclRecv", {Collective::kReceive, nullptr, recvbuff, count, datatype, ncclSum, peer,
                           comm, stream});
}
