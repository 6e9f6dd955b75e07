/* What NCCL has no word for: host streams and what a communicator moved. C callable; every function
 * returns NCCL's codes and leaves a sentence for ncclGetLastError. Functions on one handle: one
 * thread at a time. */
#ifndef STRAIT_H_
#define STRAIT_H_

#include <stdint.h>

#include "nccl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A queue of work on host memory, to be passed wherever NCCL takes a stream. Work runs in order,
 * beside the caller. */
ncclResult_t straitStreamCreate(cudaStream_t* stream);
/* Waits for all work in the queue; the error of a failed collective is on its communicator
 * (ncclCommGetAsyncError). */
ncclResult_t straitStreamSynchronize(cudaStream_t stream);
/* ncclSuccess: all work is done; ncclInProgress: not yet. */
ncclResult_t straitStreamQuery(cudaStream_t stream);
/* Waits for the queue, then frees it. */
ncclResult_t straitStreamDestroy(cudaStream_t stream);

/* Bytes this rank has sent since the communicator was made or straitCommResetStats. Set `size` to
 * sizeof before the call; no more than `size` bytes are written. */
typedef struct {
  size_t size;
  int domain; /* this rank's domain (rack), from 0 */
  int domain_count;
  uint64_t plain_bytes_sent;       /* on edges inside domains */
  uint64_t coded_value_bytes_sent; /* values sent on edges between domains, before coding */
  uint64_t coded_wire_bytes_sent;  /* what went over those edges for them, every header counted */
} straitCommStats_t;

ncclResult_t straitCommGetStats(ncclComm_t comm, straitCommStats_t* stats);
ncclResult_t straitCommResetStats(ncclComm_t comm);

#ifdef __cplusplus
}
#endif

#endif /* STRAIT_H_ */
