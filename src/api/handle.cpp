#include "api/handle.hpp"

namespace strait::api {
namespace {

struct Handles {
  std::mutex mutex;
  std::map<ncclComm_t, std::shared_ptr<Handle>> live;
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
  return found;
}

}  // namespace

ncclComm_t add_handle(std::shared_ptr<Communicator> comm) {
  auto handle = std::make_shared<Handle>();
  handle->comm = std::move(comm);
  auto* name = reinterpret_cast<ncclComm_t>(handle.get());
  std::lock_guard lock(handles().mutex);
  handles().live.emplace(name, std::move(handle));
  return name;
}

Result<std::shared_ptr<Handle>> find_handle(ncclComm_t comm) {
  std::lock_guard lock(handles().mutex);
  STRAIT_ASSIGN(const auto found, find(comm));
  return found->second;
}

Result<std::shared_ptr<Handle>> remove_handle(ncclComm_t comm) {
  std::lock_guard lock(handles().mutex);
  STRAIT_ASSIGN(const auto found, find(comm));
  std::shared_ptr<Handle> handle = found->second;
  handles().live.erase(found);
  return handle;
}

}  // namespace strait::api
