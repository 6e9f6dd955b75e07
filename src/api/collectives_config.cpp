// The collective calls with settings of their own, each one Arguments for enqueue().

#include "api/enqueue.hpp"
#include "api/export.hpp"

using strait::Collective;
using strait::api::call;

STRAIT_API(ncclResult_t, AllReduceConfig,
           (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config)) {
  return call("ncclAllReduceConfig", {Collective::kAllReduce, sendbuff, recvbuff, count, datatype,
                                      op, 0, comm, stream, config});
}

STRAIT_API(ncclResult_t, BroadcastConfig,
           (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
            ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config)) {
  return call("ncclBroadcastConfig", {Collective::kBroadcast, sendbuff, recvbuff, count, datatype,
                                      ncclSum, root, comm, stream, config});
}

STRAIT_API(ncclResult_t, ReduceConfig,
           (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
            ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream,
            const ncclCollConfig_t* config)) {
  return call("ncclReduceConfig", {Collective::kReduce, sendbuff, recvbuff, count, datatype, op,
                                   root, comm, stream, config});
}

STRAIT_API(ncclResult_t, AllGatherConfig,
           (const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
            ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config)) {
  return call("ncclAllGatherConfig", {Collective::kAllGather, sendbuff, recvbuff, sendcount,
                                      datatype, ncclSum, 0, comm, stream, config});
}

STRAIT_API(ncclResult_t, ReduceScatterConfig,
           (const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config)) {
  return call("ncclReduceScatterConfig", {Collective::kReduceScatter, sendbuff, recvbuff, recvcount,
                                          datatype, op, 0, comm, stream, config});
}

STRAIT_API(ncclResult_t, AlltoAllConfig,
           (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
            ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config)) {
  return call("ncclAlltoAllConfig", {Collective::kAllToAll, sendbuff, recvbuff, count, datatype,
                                     ncclSum, 0, comm, stream, config});
}

STRAIT_API(ncclResult_t, GatherConfig,
           (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
            ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config)) {
  return call("ncclGatherConfig", {Collective::kGather, sendbuff, recvbuff, count, datatype,
                                   ncclSum, root, comm, stream, config});
}

STRAIT_API(ncclResult_t, ScatterConfig,
           (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
            ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config)) {
  return call("ncclScatterConfig", {Collective::kScatter, sendbuff, recvbuff, count, datatype,
                                    ncclSum, root, comm, stream, config});
}
