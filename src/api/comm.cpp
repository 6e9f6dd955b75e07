// What can be asked of a communicator, and its end.

#include "api/export.hpp"
#include "api/handle.hpp"
#include "api/result.hpp"
#include "base/log.hpp"
#include "comm/group.hpp"
#include "nccl.h"

namespace strait::api {
namespace {

constexpr int64_t kDrainMs = 600'000;

template <class Value>
Status check_out(const Value* out) {
  if (out != nullptr) return Status();
  return error(Code::kInvalidArgument, "the result pointer is NULL: give it a place to go");
}

Status finalize(ncclComm_t comm) {
  STRAIT_ASSIGN(const auto handle, find_handle(comm));
  {
    std::lock_guard lock(handle->mutex);
    if (handle->finalized)
      return error(Code::kInvalidArgument, "the communicator was finalized before: destroy it");
    handle->finalized = true;
  }
  return handle->comm->drain(Deadline::after_ms(kDrainMs));
}

Status destroy(ncclComm_t comm) {
  if (comm == nullptr) return Status();
  STRAIT_ASSIGN(const auto handle, remove_handle(comm));
  // What cannot be delivered any more is no reason to keep the communicator.
  if (const Status status = handle->comm->drain(Deadline::after_ms(kDrainMs)); !status.ok())
    log_warn("ncclCommDestroy: {}", status.message());
  return Status();
}

Status abort(ncclComm_t comm) {
  if (comm == nullptr) return Status();
  STRAIT_ASSIGN(const auto handle, remove_handle(comm));
  handle->comm->abort();
  return Status();
}

// Reads one property of a communicator into *out.
template <class Value, class Get>
ncclResult_t query(const char* function, ncclComm_t comm, Value* out, Get&& get) {
  return guarded(function, [&] {
    STRAIT_ASSIGN(const auto handle, find_handle(comm));
    STRAIT_TRY(check_out(out));
    *out = get(*handle->comm);
    return Status();
  });
}

}  // namespace
}  // namespace strait::api

using strait::Communicator;
using strait::api::guarded;
using strait::api::query;

STRAIT_API(ncclResult_t, GetVersion, (int* version)) {
  return guarded("ncclGetVersion", [&] {
    STRAIT_TRY(strait::api::check_out(version));
    *version = NCCL_VERSION_CODE;
    return strait::Status();
  });
}

STRAIT_API(ncclResult_t, CommFinalize, (ncclComm_t comm)) {
  return guarded("ncclCommFinalize", [&] { return strait::api::finalize(comm); });
}

STRAIT_API(ncclResult_t, CommDestroy, (ncclComm_t comm)) {
  return guarded("ncclCommDestroy", [&] { return strait::api::destroy(comm); });
}

STRAIT_API(ncclResult_t, CommAbort, (ncclComm_t comm)) {
  return guarded("ncclCommAbort", [&] { return strait::api::abort(comm); });
}

STRAIT_API(ncclResult_t, CommGetAsyncError, (ncclComm_t comm, ncclResult_t* asyncError)) {
  return query("ncclCommGetAsyncError", comm, asyncError, [](const Communicator& c) {
    const strait::Status failure = c.failure();
    return failure.ok() ? ncclSuccess : strait::api::report(failure);
  });
}

STRAIT_API(ncclResult_t, CommCount, (const ncclComm_t comm, int* count)) {
  return query("ncclCommCount", comm, count, [](const Communicator& c) { return c.rank_count(); });
}

STRAIT_API(ncclResult_t, CommCuDevice, (const ncclComm_t comm, int* device)) {
  return query("ncclCommCuDevice", comm, device, [](const Communicator& c) { return c.device(); });
}

STRAIT_API(ncclResult_t, CommUserRank, (const ncclComm_t comm, int* rank)) {
  return query("ncclCommUserRank", comm, rank, [](const Communicator& c) { return c.rank(); });
}

STRAIT_API(ncclResult_t, GroupStart, ()) {
  return guarded("ncclGroupStart", [] {
    strait::Group::current().start();
    return strait::Status();
  });
}

STRAIT_API(ncclResult_t, GroupEnd, ()) {
  return guarded("ncclGroupEnd", [] { return strait::Group::current().end(); });
}
