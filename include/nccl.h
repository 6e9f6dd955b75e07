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

/* The level of NCCL; in this file, since build scripts look for these lines here. */
#define NCCL_MAJOR 2
#define NCCL_MINOR 32
#define NCCL_PATCH 3
#define NCCL_SUFFIX ""
#define NCCL_VERSION_CODE 23203
#define NCCL_VERSION(X, Y, Z) \
  (((X) <= 2 && (Y) <= 8) ? (X)*1000 + (Y)*100 + (Z) : (X)*10000 + (Y)*100 + (Z))

#include "nccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* As ncclCommInitRankConfig with several ids, each hosted by the process that made it, so that the
 * meeting of very many ranks is spread over them. The same ids in the same order on every rank. */
NCCL_DECLARE(ncclResult_t, CommInitRankScalable,
             (ncclComm_t * newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds,
              ncclConfig_t* config));

/* Collective over comm: ranks of one color form a new communicator, ordered by key and then by rank
 * in comm. NCCL_SPLIT_NOCOLOR joins none and yields NULL. config NULL inherits. */
NCCL_DECLARE(ncclResult_t, CommSplit,
             (ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config));
/* Called by the ranks that stay: a new communicator without the listed ranks, in the same order.
 * With NCCL_SHRINK_ABORT the parent may have failed. */
NCCL_DECLARE(ncclResult_t, CommShrink,
             (ncclComm_t comm, int* excludeRanksList, int excludeRanksCount, ncclComm_t* newcomm,
              ncclConfig_t* config, int shrinkFlags));
/* An id for one ncclCommGrow of comm; called by one rank, the coordinator. */
NCCL_DECLARE(ncclResult_t, CommGetUniqueId, (ncclComm_t comm, ncclUniqueId* uniqueId));
/* A communicator of nRanks, more than comm has. Ranks of comm keep their numbers: rank -1, uniqueId
 * NULL except on the coordinator. New ranks: comm NULL, the id, and a rank that comm has not. */
NCCL_DECLARE(ncclResult_t, CommGrow,
             (ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
              ncclComm_t* newcomm, ncclConfig_t* config));

/* Completes everything enqueued; the communicator may then only be destroyed or aborted. */
NCCL_DECLARE(ncclResult_t, CommFinalize, (ncclComm_t comm));
/* Finalizes if that was not done, and frees. NULL is allowed. */
NCCL_DECLARE(ncclResult_t, CommDestroy, (ncclComm_t comm));
/* Stops everything that runs on the communicator, here and on its peers, and frees. Callable while
 * another thread waits. */
NCCL_DECLARE(ncclResult_t, CommAbort, (ncclComm_t comm));
/* Ends what runs on the communicator. It may then be split, shrunk, destroyed or aborted, and
 * nothing else. revokeFlags is NCCL_REVOKE_DEFAULT. */
NCCL_DECLARE(ncclResult_t, CommRevoke, (ncclComm_t comm, int revokeFlags));
/* Gives back memory of an idle communicator, which cannot be used until it is resumed. flags is
 * NCCL_SUSPEND_MEM. */
NCCL_DECLARE(ncclResult_t, CommSuspend, (ncclComm_t comm, int flags));
NCCL_DECLARE(ncclResult_t, CommResume, (ncclComm_t comm));
NCCL_DECLARE(ncclResult_t, CommMemStats,
             (ncclComm_t comm, ncclCommMemStat_t stat, uint64_t* value));

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
/* Tells the communicator of a buffer that will be used often. handle may come back NULL, which
 * ncclCommDeregister accepts. */
NCCL_DECLARE(ncclResult_t, CommRegister,
             (const ncclComm_t comm, void* buff, size_t size, void** handle));
NCCL_DECLARE(ncclResult_t, CommDeregister, (const ncclComm_t comm, void* handle));

/* Collective: opens buff of every rank to one-sided access by the others. Inside a group, win is
 * set when the group ends. */
NCCL_DECLARE(ncclResult_t, CommWindowRegister,
             (ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int winFlags));
NCCL_DECLARE(ncclResult_t, CommWindowDeregister, (ncclComm_t comm, ncclWindow_t win));
/* The address that this rank registered. */
NCCL_DECLARE(ncclResult_t, WinGetUserPtr, (ncclComm_t comm, ncclWindow_t win, void** outUserPtr));
/* Writes count elements of localbuff into the window of peer, peerWinOffset bytes from its start,
 * then signals it. Puts and signals to one peer in one ctx arrive in order. */
NCCL_DECLARE(ncclResult_t, PutSignal,
             (const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
              ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx, unsigned int flags,
              ncclComm_t comm, cudaStream_t stream));
NCCL_DECLARE(ncclResult_t, Signal,
             (int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
              cudaStream_t stream));
/* Waits until each of the nDesc peers has signalled as often as its descriptor says, and uses these
 * signals up. */
NCCL_DECLARE(ncclResult_t, WaitSignal,
             (int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm, cudaStream_t stream));

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

/* The calls above with settings of their own; config NULL is the plain call. */
NCCL_DECLARE(ncclResult_t, AllReduceConfig,
             (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
              ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream,
              const ncclCollConfig_t* config));
NCCL_DECLARE(ncclResult_t, BroadcastConfig,
             (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
              ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config));
NCCL_DECLARE(ncclResult_t, ReduceConfig,
             (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
              ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream,
              const ncclCollConfig_t* config));
NCCL_DECLARE(ncclResult_t, AllGatherConfig,
             (const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
              ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config));
NCCL_DECLARE(ncclResult_t, ReduceScatterConfig,
             (const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
              ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream,
              const ncclCollConfig_t* config));
NCCL_DECLARE(ncclResult_t, AlltoAllConfig,
             (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
              ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config));
NCCL_DECLARE(ncclResult_t, GatherConfig,
             (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
              ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config));
NCCL_DECLARE(ncclResult_t, ScatterConfig,
             (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
              ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config));

/* Calls between start and end are carried out together when the outermost group ends. Per thread;
 * may nest. */
NCCL_DECLARE(ncclResult_t, GroupStart, (void));
NCCL_DECLARE(ncclResult_t, GroupEnd, (void));
/* Ends the group without carrying it out, and estimates how long it would have taken. */
NCCL_DECLARE(ncclResult_t, GroupSimulateEnd, (ncclSimInfo_t * simInfo));

/* Settings by name, as "NCCL_DEBUG": through a handle that lives as long as the process, or as
 * text. Texts belong to the library; they are valid until the thread's next such call. An unknown
 * name is ncclInvalidArgument and leaves the output alone. */
NCCL_DECLARE(ncclResult_t, ParamBind, (ncclParamHandle_t * out, const char* key));
NCCL_DECLARE(ncclResult_t, ParamGetI8, (ncclParamHandle_t h, int8_t* out));
NCCL_DECLARE(ncclResult_t, ParamGetI16, (ncclParamHandle_t h, int16_t* out));
NCCL_DECLARE(ncclResult_t, ParamGetI32, (ncclParamHandle_t h, int32_t* out));
NCCL_DECLARE(ncclResult_t, ParamGetI64, (ncclParamHandle_t h, int64_t* out));
NCCL_DECLARE(ncclResult_t, ParamGetU8, (ncclParamHandle_t h, uint8_t* out));
NCCL_DECLARE(ncclResult_t, ParamGetU16, (ncclParamHandle_t h, uint16_t* out));
NCCL_DECLARE(ncclResult_t, ParamGetU32, (ncclParamHandle_t h, uint32_t* out));
NCCL_DECLARE(ncclResult_t, ParamGetU64, (ncclParamHandle_t h, uint64_t* out));
NCCL_DECLARE(ncclResult_t, ParamGetStr, (ncclParamHandle_t h, const char** out));
NCCL_DECLARE(ncclResult_t, ParamGet, (ncclParamHandle_t h, void* out, int maxLen, int* len));
NCCL_DECLARE(ncclResult_t, ParamGetParameter, (const char* key, const char** value, int* valueLen));
NCCL_DECLARE(ncclResult_t, ParamGetAllParameterKeys, (const char*** table, int* tableLen));
NCCL_DECLARE(void, ParamDumpAll, (void));
/* Reads the NCCL_DEBUG settings again. */
NCCL_DECLARE(void, ResetDebugInit, (void));

/* Encrypts the TCP connections that this process makes from now on; every process of a job needs
 * the same key. Call it before ncclGetUniqueId. */
NCCL_DECLARE(ncclResult_t, SetEncryption, (const ncclEncryptionConfig_t* config));

#ifdef __cplusplus
}
#endif

#endif /* NCCL_H_ */
