// NcclLibrary: a libnccl opened by its path, ours or another one, so that one program checks and
// measures both the same way. Never closed; the calls may be made from any thread.
#pragma once

#include <string>

#include "base/status.hpp"
#include "nccl.h"

namespace strait::device_check {

// name of the member, name of the function
#define STRAIT_NCCL_CALLS(each)                                                                  \
  each(get_unique_id, GetUniqueId) each(init_rank, CommInitRank) each(destroy, CommDestroy)      \
      each(abort, CommAbort) each(async_error, CommGetAsyncError) each(last_error, GetLastError) \
          each(all_reduce, AllReduce) each(reduce, Reduce) each(broadcast, Broadcast)            \
              each(all_gather, AllGather) each(reduce_scatter, ReduceScatter) each(send, Send)   \
                  each(receive, Recv) each(group_start, GroupStart) each(group_end, GroupEnd)

struct NcclLibrary {
#define STRAIT_MEMBER(member, function) decltype(&::nccl##function) member = nullptr;
  STRAIT_NCCL_CALLS(STRAIT_MEMBER)
#undef STRAIT_MEMBER

  static Result<NcclLibrary> open(const std::string& path);
  // What a call of it said, with the library's own sentence.
  Status status(ncclResult_t result, const char* call, ncclComm_t comm) const;
};

}  // namespace strait::device_check
