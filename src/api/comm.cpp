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
    if (handle->revoked)
      return error(Code::kInvalidUsage,
                   "the communicator was revoked: shrink, split or destroy it");
    if (handle->finalized)
      return error(Code::kInvalidArgument, "the communicator was finalized before: destroy it");
    handle->finalized = true;
  }
  const auto drain = [made = handle->comm] { return made->drain(Deadline::after_ms(kDrainMs)); };
  return handle->progress->blocking() ? drain() : handle->progress->start(drain);
}

Status destroy(ncclComm_t comm) {
  if (comm == nullptr) return Status();
  STRAIT_ASSIGN(const auto handle, find_any_handle(comm));
  if (handle->progress->state().code() == Code::kInProgress) return handle->progress->check_idle();
  STRAIT_TRY(remove_handle(comm).status());
  // What cannot be delivered any more is no reason to keep the communicator.
  const std::shared_ptr<Communicator> made = handle->made();
  if (made == nullptr) return Status();
  if (const Status status = made->drain(Deadline::after_ms(kDrainMs)); !status.ok())
    log_warn("ncclCommDestroy: {}", status.message());
  if (const Status status = made->wait_for_graphs(); !status.ok())
    log_warn("ncclCommDestroy: {}", status.message());
  return Status();
}

Status abort(ncclComm_t comm) {
  if (comm == nullptr) return Status();
  STRAIT_ASSIGN(const auto handle, remove_handle(comm));
  handle->progress->stop();
  if (const auto made = handle->made()) made->abort();
  handle->progress->wait();
  return Status();
}

// What runs ends; what was asked to end may still be on its way out when this returns.
Status revoke(ncclComm_t comm, int flags) {
  if (flags != NCCL_REVOKE_DEFAULT)
    return error(Code::kInvalidArgument, "revokeFlags is {}: there is only DEFAULT (0)", flags);
  STRAIT_ASSIGN(const auto handle, find_any_handle(comm));
  const std::shared_ptr<Communicator> made = handle->made();
  if (made == nullptr) return handle->progress->check_idle();
  {
    std::lock_guard lock(handle->mutex);
    if (handle->finalized)
      return error(Code::kInvalidUsage, "the communicator was finalized: destroy it");
    handle->revoked = true;
  }
  const Status why = error(Code::kInvalidUsage, "the communicator was revoked");
  if (handle->progress->blocking()) {
    made->end_work(why);
    return Status();
  }
  made->fail(why);
  return made->is_quiet() ? Status() : Status(Code::kInProgress, why.message());
}

ncclResult_t async_state(Handle& handle) {
  const Status work = handle.progress->state();
  if (work.code() == Code::kInProgress) return ncclInProgress;
  bool revoked = false;
  {
    std::lock_guard lock(handle.mutex);
    revoked = handle.revoked;
  }
  if (revoked) return handle.comm->is_quiet() ? ncclSuccess : ncclInProgress;
  const Status failure = work.ok() ? handle.comm->failure_anywhere() : work;
  return failure.ok() ? ncclSuccess : report(failure);
}

Status get_async_error(ncclComm_t comm, ncclResult_t* out) {
  STRAIT_ASSIGN(const auto handle, find_any_handle(comm));
  STRAIT_TRY(check_out(out));
  *out = async_state(*handle);
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

STRAIT_API(ncclResult_t, CommFinalize, (ncclComm_t comm)) {
  return guarded("ncclCommFinalize", [&] { return strait::api::finalize(comm); });
}

STRAIT_API(ncclResult_t, CommDestroy, (ncclComm_t comm)) {
  return guarded("ncclCommDestroy", [&] { return strait::api::destroy(comm); });
}

STRAIT_API(ncclResult_t, CommAbort, (ncclComm_t comm)) {
  return guarded("ncclCommAbort", [&] { return strait::api::abort(comm); });
}

STRAIT_API(ncclResult_t, CommRevoke, (ncclComm_t comm, int revokeFlags)) {
  return guarded("ncclCommRevoke", [&] { return strait::api::revoke(comm, revokeFlags); });
}

STRAIT_API(ncclResult_t, CommGetAsyncError, (ncclComm_t comm, ncclResult_t* asyncError)) {
  return guarded("ncclCommGetAsyncError",
                 [&] { return strait::api::get_async_error(comm, asyncError); });
}

STRAIT_API(ncclResult_t, CommCount, (const ncclComm_t comm, int* count)) {
  return query("ncclCommCount", comm, count, [](const Communicator& c) { return c.rank_count(); });
}

STRAIT_API(ncclResult_t, CommCuDevice, (const ncclComm_t comm, int* device)) {
  return query("ncclCommCuDevice", comm, device,
               [](const Communicator& c) { return c.device().ordinal; });
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
