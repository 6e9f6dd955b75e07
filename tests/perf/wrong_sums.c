/* For LD_PRELOAD: the library's all-reduce with another operation than was asked for, so that a
 * program that checks its results must find them wrong. */
#include <nccl.h>

__attribute__((visibility("default"))) ncclResult_t ncclAllReduce(const void* sendbuff,
                                                                  void* recvbuff, size_t count,
                                                                  ncclDataType_t datatype,
                                                                  ncclRedOp_t op, ncclComm_t comm,
                                                                  cudaStream_t stream) {
  (void)op;
  return pncclAllReduce(sendbuff, recvbuff, count, datatype, ncclMax, comm, stream);
}
