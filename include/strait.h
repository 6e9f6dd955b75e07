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
  uint64_t lent_bytes_sent; /* of plain_bytes_sent: read by the peer where they lay, not copied */
} straitCommStats_t;

ncclResult_t straitCommGetStats(ncclComm_t comm, straitCommStats_t* stats);
ncclResult_t straitCommResetStats(ncclComm_t comm);

/* Bytes this rank has sent to one peer in another domain since the communicator was made; zeros for
 * a peer in its own. `size` as above. */
typedef struct {
  size_t size;
  uint64_t coded_value_bytes_sent;
  uint64_t coded_wire_bytes_sent;
} straitPeerStats_t;

ncclResult_t straitCommGetPeerStats(ncclComm_t comm, int peer, straitPeerStats_t* stats);

/* Options of one call, in the list `ext` of ncclCollConfig_t, under this library's vendor id; NCCL
 * itself ignores them. They speak of what leaves a domain, change no result, and may differ between
 * ranks. */
#define STRAIT_VENDOR_ID 0x6d2f17
#define STRAIT_OPTION_COMPRESS 1 /* val.i: one of the four below */
#define STRAIT_OPTION_CHECKSUM 2 /* val.i: 1 checks the payload of coded chunks, 0 does not */
#define STRAIT_COMPRESS_OFF 0
#define STRAIT_COMPRESS_FAST 1
#define STRAIT_COMPRESS_DENSE 2
#define STRAIT_COMPRESS_AUTO 3

#ifdef __cplusplus
}
#endif

#endif /* STRAIT_H_ */
