#include "api/handle.hpp"

#include <unistd.h>

namespace strait::api {
namespace {

struct Handles {
  std::mutex mutex;
  std::map<ncclComm_t, std::shared_ptr<Handle>> live;
  uintptr_t next = kFirst;

  // Outside of what a process can map, so no address is mistaken for a communicator.
  static constexpr uintptr_t kFirst = uintptr_t{0x5743} << (8 * sizeof(uintptr_t) - 16);
  static constexpr uintptr_t kStep = 16;
};

Handles& handles() {
  // Never destroyed: programs destroy communicators from their own static destructors.
  static auto* all = new Handles;
  return *all;
}

Result<std::map<ncclComm_t, std::shared_ptr<Handle>>::iterator> find(ncclComm_t comm) {
  if (comm == nullptr)
    return error(Code::kInvalidArgument,
                 "the communicator is NULL: make one with ncclCommInitRank");
  const auto found = handles().live.find(comm);
  if (found == handles().live.end())
    return error(Code::kInvalidArgument,
                 "{} is not a communicator: it was destroyed, aborted, or never made",
                 static_cast<void*>(comm));
  if (found->second->process != getpid())
    return error(Code::kInvalidUsage,
                 "the communicator belongs to process {}, of which this one is a fork: make "
                 "communicators after the fork",
                 found->second->process);
  return found;
}

}  // namespace

ncclComm_t add_handle(std::shared_ptr<Handle> handle) {
  handle->process = getpid();
  std::lock_guard lock(handles().mutex);
  auto* name = reinterpret_cast<ncclComm_t>(handles().next += Handles::kStep);
  handles().live.emplace(name, std::move(handle));
  return name;
}

ncclComm_t add_handle(std::shared_ptr<Communicator> comm) {
  auto handle = std::make_shared<Handle>();
  handle->progress = comm->progress();
  handle->comm = std::move(comm);
  return add_handle(std::move(handle));
}

Result<std::shared_ptr<Handle>> find_any_handle(ncclComm_t comm) {
  std::lock_guard lock(handles().mutex);
  STRAIT_ASSIGN(const auto found, find(comm));
  return found->second;
}

Result<std::shared_ptr<Handle>> find_handle(ncclComm_t comm) {
  STRAIT_ASSIGN(const auto handle, find_any_handle(comm));
  STRAIT_TRY(handle->progress->check_idle());
  return handle;
}

Result<std::shared_ptr<Handle>> remove_handle(ncclComm_t comm) {
  std::lock_guard lock(handles().mutex);
  STRAIT_ASSIGN(const auto found, find(comm));
  std::shared_ptr<Handle> handle = found->second;
  handles().live.erase(found);
  return handle;
}

Status check_usable(Handle& handle) {
  {
    std::lock_guard lock(handle.mutex);
    if (handle.finalized)
      return error(Code::kInvalidUsage, "the communicator was finalized: make a new one");
    if (handle.revoked)
      return error(Code::kInvalidUsage,
                   "the communicator was revoked: shrink, split or destroy it");
    if (handle.suspended)
      return error(Code::kInvalidUsage, "the communicator is suspended: call ncclCommResume first");
  }
  return handle.comm->failure();
}

}  // namespace strait::api
