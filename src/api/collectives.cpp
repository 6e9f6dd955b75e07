// The collective calls, each one Arguments for enqueue().

#include "api/enqueue.hpp"
#include "api/export.hpp"

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
