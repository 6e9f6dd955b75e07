/* The host calls of NCCL's device API, as programs find them by name; NCCL declares them in
 * nccl_device.h, whose other half is code for kernels. No communicator of this library has a device
 * API: the calls that hand one out refuse, as in NCCL where it has none, and those that only
 * compute answer. Shapes and numbers are NCCL's. Any thread. */
#ifndef STRAIT_DEVICE_API_H_
#define STRAIT_DEVICE_API_H_

#include <stdbool.h>

#include "nccl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nRanks ranks, `stride` apart, of which the caller is number `rank`. */
typedef struct {
  int nRanks;
  int rank;
  int stride;
} ncclTeam_t;

typedef uint32_t ncclDevResourceHandle_t;

typedef struct ncclDevResourceRequirements {
  struct ncclDevResourceRequirements* next;
  size_t bufferSize;
  size_t bufferAlign;
  ncclDevResourceHandle_t* outBufferHandle;
  int ginSignalCount;
  int ginCounterCount;
  uint32_t* outGinSignalStart;
  uint32_t* outGinCounterStart;
} ncclDevResourceRequirements_t;

typedef struct {
  ncclDevResourceHandle_t bufHandle;
  int nBarriers;
} ncclLsaBarrierHandle_t;

typedef struct {
  uint32_t signal0;
  ncclDevResourceHandle_t bufHandle;
} ncclGinBarrierHandle_t;

typedef struct {
  ncclDevResourceHandle_t bufHandle;
  uint32_t nSlots;
} ncclLLA2AHandle_t;

typedef struct {
  void* mcBasePtr;
} ncclMultimemHandle_t;

typedef enum { NCCL_GIN_TYPE_NONE = 0 } ncclGinType_t;

/* Start with size, magic and version; the rest is filled in as far as the size reaches. */
typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int rank;
  int nRanks;
  int cudaDev;
  int nvmlDev;
  bool deviceApiSupport;
  bool multimemSupport;
  ncclGinType_t ginType;
  int nLsaTeams;
  bool hostRmaSupport;
  ncclGinType_t railedGinType;
} ncclCommProperties_t;

NCCL_DECLARE(ncclResult_t, CommQueryProperties, (ncclComm_t comm, ncclCommProperties_t* props));
NCCL_DECLARE(ncclResult_t, DevCommCreate, (ncclComm_t comm, const void* reqs, void* outDevComm));
NCCL_DECLARE(ncclResult_t, DevCommDestroy, (ncclComm_t comm, const void* devComm));

NCCL_DECLARE(ncclResult_t, GetLsaMultimemDevicePointer,
             (ncclWindow_t window, size_t offset, void** outPtr));
NCCL_DECLARE(ncclResult_t, GetMultimemDevicePointer,
             (ncclWindow_t window, size_t offset, ncclMultimemHandle_t multimem, void** outPtr));
NCCL_DECLARE(ncclResult_t, GetLsaDevicePointer,
             (ncclWindow_t window, size_t offset, int lsaRank, void** outPtr));
NCCL_DECLARE(ncclResult_t, GetPeerDevicePointer,
             (ncclWindow_t window, size_t offset, int peer, void** outPtr));
NCCL_DECLARE(ncclResult_t, GetMultimemDeviceLeInfo,
             (ncclWindow_t window, size_t offset, uint32_t* leId, size_t* leOffset));
NCCL_DECLARE(ncclResult_t, GetCftDeviceLeInfo,
             (ncclWindow_t window, size_t offset, int peerCft, ncclTeam_t cftTeam, uint32_t* leId,
              size_t* leOffset));
NCCL_DECLARE(ncclResult_t, GetPeerDeviceLeInfo,
             (ncclWindow_t window, size_t offset, int peerWorld, uint32_t* leId, size_t* leOffset));

/* All ranks; those of the caller's domain, where domains are equal runs of ranks (else the caller
 * alone); those with the caller's place in their domain. */
NCCL_DECLARE(ncclTeam_t, TeamWorld, (ncclComm_t comm));
NCCL_DECLARE(ncclTeam_t, TeamLsa, (ncclComm_t comm));
NCCL_DECLARE(ncclTeam_t, TeamRail, (ncclComm_t comm));
NCCL_DECLARE(ncclTeam_t, TeamCft, (ncclComm_t comm, int mode));
NCCL_DECLARE(ncclTeam_t, TeamCftMultimem, (ncclComm_t comm));
NCCL_DECLARE(int, TeamRankToWorld, (ncclComm_t comm, ncclTeam_t team, int rank));
NCCL_DECLARE(int, TeamRankToLsa, (ncclComm_t comm, ncclTeam_t team, int rank));

NCCL_DECLARE(ncclResult_t, LsaBarrierCreateRequirement,
             (ncclTeam_t team, int nBarriers, ncclLsaBarrierHandle_t* outHandle,
              ncclDevResourceRequirements_t* outReq));
NCCL_DECLARE(ncclResult_t, GinBarrierCreateRequirement,
             (ncclComm_t comm, ncclTeam_t team, int nBarriers, ncclGinBarrierHandle_t* outHandle,
              ncclDevResourceRequirements_t* outReq));
NCCL_DECLARE(int, LLA2ACalcSlots, (int maxElts, int maxEltSize));
NCCL_DECLARE(ncclResult_t, LLA2ACreateRequirement,
             (int nBlocks, int nSlots, ncclLLA2AHandle_t* outHandle,
              ncclDevResourceRequirements_t* outReq));
NCCL_DECLARE(ncclResult_t, GinOutboxCreateRequirement,
             (int nBlocks, int size_log2, void* outHandle, ncclDevResourceRequirements_t* outReq));
NCCL_DECLARE(ncclResult_t, GinInboxA2ACreateRequirement,
             (ncclTeam_t peers, int nBlocks, int size_log2, void* outHandle,
              ncclDevResourceRequirements_t* outReq));

#ifdef __cplusplus
}
#endif

#endif /* STRAIT_DEVICE_API_H_ */
