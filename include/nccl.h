/* The NCCL-compatible C API of Strait. Programs written for NCCL compile against this header and
 * link libnccl.so.2 unchanged. Names, numbers and struct layouts are NCCL's; every function also
 * exists under the prefix pnccl (strong; the nccl name is weak) so that profilers can interpose.
 *
 * Counts are elements of the data type unless said otherwise. Buffers of a rank on the host device
 * are ordinary memory. A NULL stream completes before the call (or the outermost ncclGroupEnd)
 * returns; a stream from strait.h is asynchronous. A communicator may be used by one thread at a
 * time, except for ncclCommAbort and ncclCommGetAsyncError. On any error other than ncclInProgress,
 * ncclGetLastError says in one sentence what happened and what to do. */
#ifndef NCCL_H_
#define NCCL_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h>
#endif
#endif

#define NCCL_MAJOR 2
#define NCCL_MINOR 17
#define NCCL_PATCH 1
#define NCCL_SUFFIX ""
#define NCCL_VERSION_CODE 21701
#define NCCL_VERSION(X, Y, Z) \
  (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))

#ifdef __cplusplus
extern "C" {
#endif

/* The same type as CUDA's; declared here so that no CUDA header is needed. */
typedef struct CUstream_st* cudaStream_t;

typedef struct ncclComm* ncclComm_t;
#define NCCL_COMM_NULL NULL

#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclTimeout = 8,
  ncclNumResults = 9
} ncclResult_t;

#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_UNDEF_FLOAT (-1.0f)

/* Layout of NCCL 2.17. Structs of older and newer headers are accepted; fields unknown to this
 * library are ignored. */
typedef struct ncclConfig_v21700 {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char* netName;
} ncclConfig_t;

/* clang-format off */
#define NCCL_CONFIG_INITIALIZER {                                        \
  sizeof(ncclConfig_t), 0xcafebeef, NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH), \
  NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,   \
  NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_PTR }
/* clang-format on */

typedef enum { ncclNumOps_dummy = 5 } ncclRedOp_dummy_t;
typedef enum {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5, /* the first user-defined operation */
  ncclMaxRedOp = 0x7fffffff >> (32 - 8 * sizeof(ncclRedOp_dummy_t))
} ncclRedOp_t;

typedef enum {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12
} ncclDataType_t;

typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

/* Declares a function and its profiling twin. */
#define NCCL_DECLARE(result, name, arguments) \
  result nccl##name arguments;                \
  result pnccl##name arguments

/* The level of NCCL this library provides, as NCCL_VERSION_CODE. */
NCCL_DECLARE(ncclResult_t, GetVersion, (int* version));

/* An id for one new communicator, to be given to all its ranks. The calling process hosts their
 * meeting point until all have joined. */
NCCL_DECLARE(ncclResult_t, GetUniqueId, (ncclUniqueId * uniqueId));

/* Makes rank `rank` of a communicator of `nranks`. Returns when all ranks have joined and agreed,
 * or fails on every rank with the reason. Several ranks of one thread: between ncclGroupStart and
 * ncclGroupEnd. */
NCCL_DECLARE(ncclResult_t, CommInitRank,
             (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank));
NCCL_DECLARE(ncclResult_t, CommInitRankConfig,
             (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config));

/* A communicator of ndev ranks in this process; comms receives ndev handles. devlist NULL means
 * 0..ndev-1. */
NCCL_DECLARE(ncclResult_t, CommInitAll, (ncclComm_t * comms, int ndev, const int* devlist));

/* Completes everything enqueued; the communicator may then only be destroyed or aborted. */
NCCL_DECLARE(ncclResult_t, CommFinalize, (ncclComm_t comm));
/* Finalizes if that was not done, and frees. NULL is allowed. */
NCCL_DECLARE(ncclResult_t, CommDestroy, (ncclComm_t comm));
/* Stops everything that runs on the communicator, here and on its peers, and frees. Callable while
 * another thread waits. */
NCCL_DECLARE(ncclResult_t, CommAbort, (ncclComm_t comm));

NCCL_DECLARE(const char*, GetErrorString, (ncclResult_t result));
/* The last error of this process in one sentence; never NULL. comm is ignored. */
NCCL_DECLARE(const char*, GetLastError, (ncclComm_t comm));
/* The first failure of the communicator, or ncclSuccess. Any thread. */
NCCL_DECLARE(ncclResult_t, CommGetAsyncError, (ncclComm_t comm, ncclResult_t* asyncError));
NCCL_DECLARE(ncclResult_t, CommCount, (const ncclComm_t comm, int* count));
NCCL_DECLARE(ncclResult_t, CommCuDevice, (const ncclComm_t comm, int* device));
NCCL_DECLARE(ncclResult_t, CommUserRank, (const ncclComm_t comm, int* rank));

/* Memory that peers on this host can read in place. */
NCCL_DECLARE(ncclResult_t, MemAlloc, (void** ptr, size_t size));
NCCL_DECLARE(ncclResult_t, MemFree, (void* ptr));

/* An operation that multiplies each rank's input by its own scalar and sums. Valid until
 * ncclRedOpDestroy; calls already made keep it. */
NCCL_DECLARE(ncclResult_t, RedOpCreatePreMulSum,
             (ncclRedOp_t * op, void* scalar, ncclDataType_t datatype,
              ncclScalarResidence_t residence, ncclComm_t comm));
NCCL_DECLARE(ncclResult_t, RedOpDestroy, (ncclRedOp_t op, ncclComm_t comm));

/* recvbuff of the root = reduction of all sendbuffs. In place: sendbuff == recvbuff. recvbuff is
 * ignored off root. */
NCCL_DECLARE(ncclResult_t, Reduce,
             (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
              ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream));
/* In-place broadcast. */
NCCL_DECLARE(ncclResult_t, Bcast,
             (void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
              cudaStream_t stream));
/* recvbuff of every rank = sendbuff of the root, whose sendbuff alone is read. In place: sendbuff
 * == recvbuff. */
NCCL_DECLARE(ncclResult_t, Broadcast,
             (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
              ncclComm_t comm, cudaStream_t stream));
/* recvbuff = reduction of all sendbuffs, the same bits on every rank. In place: sendbuff ==
 * recvbuff. */
NCCL_DECLARE(ncclResult_t, AllReduce,
             (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
              ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream));
/* sendbuff holds nranks*recvcount elements; rank i receives the reduction of block i.
 * In place: recvbuff == sendbuff + rank*recvcount. */
NCCL_DECLARE(ncclResult_t, ReduceScatter,
             (const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
              ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream));
/* recvbuff receives nranks*sendcount elements, block i from rank i. In place: sendbuff == recvbuff
 * + rank*sendcount. */
NCCL_DECLARE(ncclResult_t, AllGather,
             (const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
              ncclComm_t comm, cudaStream_t stream));
/* Block i of sendbuff goes to rank i; block i of recvbuff comes from rank i; count elements each.
 * Not in place. */
NCCL_DECLARE(ncclResult_t, AlltoAll,
             (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
              ncclComm_t comm, cudaStream_t stream));
/* Block i of the root's recvbuff = sendbuff of rank i. In place at the root: sendbuff == recvbuff +
 * root*count. */
NCCL_DECLARE(ncclResult_t, Gather,
             (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
              ncclComm_t comm, cudaStream_t stream));
/* recvbuff of rank i = block i of the root's sendbuff. In place at the root: recvbuff == sendbuff +
 * root*count. */
NCCL_DECLARE(ncclResult_t, Scatter,
             (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
              ncclComm_t comm, cudaStream_t stream));
/* To and from one peer, matched in call order; several that must run together belong into one
 * group. */
NCCL_DECLARE(ncclResult_t, Send,
             (const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
              ncclComm_t comm, cudaStream_t stream));
NCCL_DECLARE(ncclResult_t, Recv,
             (void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
              cudaStream_t stream));

/* Calls between start and end are carried out together when the outermost group ends. Per thread;
 * may nest. */
NCCL_DECLARE(ncclResult_t, GroupStart, (void));
NCCL_DECLARE(ncclResult_t, GroupEnd, (void));

#ifdef __cplusplus
}
#endif

#endif /* NCCL_H_ */
