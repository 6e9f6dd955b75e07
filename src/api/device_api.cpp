#include "api/device_api.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "api/export.hpp"
#include "api/handle.hpp"
#include "api/result.hpp"

namespace strait::api {
namespace {

// The struct of NCCL 2.29.2, which had no more than this.
constexpr size_t kSmallestPropertyBytes = offsetof(ncclCommProperties_t, ginType);
constexpr unsigned kGinSince = NCCL_VERSION(2, 29, 4);

ncclResult_t refuse(const char* function) {
  return guarded(function, [] {
    return error(Code::kInvalidUsage,
                 "communicators of this library have no device API; ncclCommQueryProperties says "
                 "so in deviceApiSupport");
  });
}

// Ranks of a team that reaches each other's memory: of a domain, where all are equal runs of ranks.
int lsa_size(const Communicator& comm) {
  const auto& domain_of = comm.topology().domain_of;
  const int domains = comm.topology().domain_count();
  const int size = comm.rank_count() / domains;
  for (int rank = 0; rank < comm.rank_count(); ++rank)
    if (size * domains != comm.rank_count() || domain_of[static_cast<size_t>(rank)] != rank / size)
      return 1;
  return size;
}

template <class Make>
ncclTeam_t team(ncclComm_t name, Make&& make) {
  const auto handle = find_any_handle(name);
  const auto comm = handle.ok() ? (*handle)->made() : nullptr;
  return comm ? make(*comm) : ncclTeam_t{};
}

ncclTeam_t world(const Communicator& comm) {
  return {comm.rank_count(), comm.rank(), 1};
}

ncclTeam_t lsa(const Communicator& comm) {
  const int size = lsa_size(comm);
  return {size, comm.rank() % size, 1};
}

ncclTeam_t rail(const Communicator& comm) {
  const int size = lsa_size(comm);
  return {comm.rank_count() / size, comm.rank() / size, size};
}

Status query_properties(ncclComm_t name, ncclCommProperties_t* out) {
  STRAIT_ASSIGN(const auto handle, find_handle(name));
  if (out == nullptr) return error(Code::kInvalidArgument, "props is NULL: give it a place to go");
  ncclCommProperties_t known{};
  std::memcpy(&known, out, offsetof(ncclCommProperties_t, rank));
  if (known.magic != NCCL_API_MAGIC || known.size < kSmallestPropertyBytes)
    return error(Code::kInvalidUsage,
                 "props was not set up (size {}, magic {:#x}): start from "
                 "NCCL_COMM_PROPERTIES_INITIALIZER",
                 known.size, known.magic);
  const Communicator& comm = *handle->comm;
  known.rank = comm.rank();
  known.nRanks = comm.rank_count();
  known.cudaDev = comm.device().ordinal;
  known.nvmlDev = comm.device().ordinal;
  known.nLsaTeams = comm.rank_count() / lsa_size(comm);
  known.hostRmaSupport = true;
  const size_t covered =
      known.version < kGinSince ? kSmallestPropertyBytes : std::min(known.size, sizeof known);
  std::memcpy(out, &known, covered);
  return Status();
}

// Sets *requirement to nothing and returns whether the outputs are there.
template <class Handle>
Status clear(Handle* handle, ncclDevResourceRequirements_t* requirement) {
  if (handle == nullptr || requirement == nullptr)
    return error(Code::kInvalidArgument, "outHandle or outReq is NULL: give them a place to go");
  *requirement = {};
  return Status();
}

}  // namespace
}  // namespace strait::api

using strait::api::guarded;

STRAIT_API(ncclResult_t, CommQueryProperties, (ncclComm_t comm, ncclCommProperties_t* props)) {
  return guarded("ncclCommQueryProperties",
                 [&] { return strait::api::query_properties(comm, props); });
}

STRAIT_API(ncclResult_t, DevCommCreate, (ncclComm_t, const void*, void*)) {
  return strait::api::refuse("ncclDevCommCreate");
}

STRAIT_API(ncclResult_t, DevCommDestroy, (ncclComm_t, const void*)) {
  return strait::api::refuse("ncclDevCommDestroy");
}

STRAIT_API(ncclResult_t, GetLsaMultimemDevicePointer, (ncclWindow_t, size_t, void**)) {
  return strait::api::refuse("ncclGetLsaMultimemDevicePointer");
}

STRAIT_API(ncclResult_t, GetMultimemDevicePointer,
           (ncclWindow_t, size_t, ncclMultimemHandle_t, void**)) {
  return strait::api::refuse("ncclGetMultimemDevicePointer");
}

STRAIT_API(ncclResult_t, GetLsaDevicePointer, (ncclWindow_t, size_t, int, void**)) {
  return strait::api::refuse("ncclGetLsaDevicePointer");
}

STRAIT_API(ncclResult_t, GetPeerDevicePointer, (ncclWindow_t, size_t, int, void**)) {
  return strait::api::refuse("ncclGetPeerDevicePointer");
}

STRAIT_API(ncclResult_t, GetMultimemDeviceLeInfo, (ncclWindow_t, size_t, uint32_t*, size_t*)) {
  return strait::api::refuse("ncclGetMultimemDeviceLeInfo");
}

STRAIT_API(ncclResult_t, GetCftDeviceLeInfo,
           (ncclWindow_t, size_t, int, ncclTeam_t, uint32_t*, size_t*)) {
  return strait::api::refuse("ncclGetCftDeviceLeInfo");
}

STRAIT_API(ncclResult_t, GetPeerDeviceLeInfo, (ncclWindow_t, size_t, int, uint32_t*, size_t*)) {
  return strait::api::refuse("ncclGetPeerDeviceLeInfo");
}

STRAIT_API(ncclTeam_t, TeamWorld, (ncclComm_t comm)) {
  return strait::api::team(comm, strait::api::world);
}

STRAIT_API(ncclTeam_t, TeamLsa, (ncclComm_t comm)) {
  return strait::api::team(comm, strait::api::lsa);
}

STRAIT_API(ncclTeam_t, TeamRail, (ncclComm_t comm)) {
  return strait::api::team(comm, strait::api::rail);
}

// The caller alone: there are no logical endpoints.
STRAIT_API(ncclTeam_t, TeamCft, (ncclComm_t comm, int)) {
  return strait::api::team(comm, [](const strait::Communicator&) { return ncclTeam_t{1, 0, 1}; });
}

STRAIT_API(ncclTeam_t, TeamCftMultimem, (ncclComm_t comm)) {
  return strait::api::team(comm, [](const strait::Communicator&) { return ncclTeam_t{1, 0, 1}; });
}

STRAIT_API(int, TeamRankToWorld, (ncclComm_t comm, ncclTeam_t team, int rank)) {
  return strait::api::team(comm, strait::api::world).rank + (rank - team.rank) * team.stride;
}

STRAIT_API(int, TeamRankToLsa, (ncclComm_t comm, ncclTeam_t team, int rank)) {
  return strait::api::team(comm, strait::api::lsa).rank + (rank - team.rank) * team.stride;
}

STRAIT_API(ncclResult_t, LsaBarrierCreateRequirement,
           (ncclTeam_t team, int nBarriers, ncclLsaBarrierHandle_t* outHandle,
            ncclDevResourceRequirements_t* outReq)) {
  return guarded("ncclLsaBarrierCreateRequirement", [&]() -> strait::Status {
    STRAIT_TRY(strait::api::clear(outHandle, outReq));
    outHandle->nBarriers = nBarriers;
    // Of each barrier three words and one for each rank.
    outReq->bufferSize =
        static_cast<size_t>(nBarriers) * (3 + static_cast<size_t>(team.nRanks)) * sizeof(uint32_t);
    outReq->bufferAlign = alignof(uint32_t);
    outReq->outBufferHandle = &outHandle->bufHandle;
    return strait::Status();
  });
}

STRAIT_API(ncclResult_t, GinBarrierCreateRequirement,
           (ncclComm_t, ncclTeam_t team, int nBarriers, ncclGinBarrierHandle_t* outHandle,
            ncclDevResourceRequirements_t* outReq)) {
  return guarded("ncclGinBarrierCreateRequirement", [&]() -> strait::Status {
    STRAIT_TRY(strait::api::clear(outHandle, outReq));
    outReq->ginSignalCount = nBarriers * team.nRanks;
    outReq->outGinSignalStart = &outHandle->signal0;
    return strait::Status();
  });
}

STRAIT_API(int, LLA2ACalcSlots, (int maxElts, int maxEltSize)) {
  constexpr int kSlotBytes = 8;
  return maxElts * ((maxEltSize + kSlotBytes - 1) / kSlotBytes);
}

STRAIT_API(ncclResult_t, LLA2ACreateRequirement,
           (int nBlocks, int nSlots, ncclLLA2AHandle_t* outHandle,
            ncclDevResourceRequirements_t* outReq)) {
  return guarded("ncclLLA2ACreateRequirement", [&]() -> strait::Status {
    constexpr size_t kCellBytes = 16;
    STRAIT_TRY(strait::api::clear(outHandle, outReq));
    outHandle->nSlots = static_cast<uint32_t>(nSlots);
    // Of each block a counter and two sets of slots.
    outReq->bufferSize =
        static_cast<size_t>(nBlocks) * (1 + 2 * static_cast<size_t>(nSlots)) * kCellBytes;
    outReq->bufferAlign = kCellBytes;
    outReq->outBufferHandle = &outHandle->bufHandle;
    return strait::Status();
  });
}

STRAIT_API(ncclResult_t, GinOutboxCreateRequirement,
           (int, int, void*, ncclDevResourceRequirements_t*)) {
  return strait::api::refuse("ncclGinOutboxCreateRequirement");
}

STRAIT_API(ncclResult_t, GinInboxA2ACreateRequirement,
           (ncclTeam_t, int, int, void*, ncclDevResourceRequirements_t*)) {
  return strait::api::refuse("ncclGinInboxA2ACreateRequirement");
}
