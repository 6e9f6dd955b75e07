// What an ncclComm_t stands for, and the list of those that exist, so that a destroyed or invented
// one is an error and not a crash. An ncclComm_t is a number that is never given twice and no
// address. Any thread; a look-up costs an uncontended lock and a system call.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "base/status.hpp"
#include "base/types.hpp"
#include "comm/communicator.hpp"
#include "nccl.h"

namespace strait::api {

// A user's pre-mul-sum: the scalar, or where it lies when the call is made.
struct UserOperation {
  DataType type;
  std::array<std::byte, 8> scalar;
  const void* scalar_place;  // null: `scalar` holds it
};

// What ncclCommRegister was told of.
struct Registration {
  const void* buffer;
  size_t bytes;
};

struct Handle {
  // Null while it is made in the background, and if that failed; set once.
  std::shared_ptr<Communicator> comm;
  std::shared_ptr<Progress> progress;
  pid_t process = 0;  // that made it: a fork inherits the number, but no threads

  std::mutex mutex;  // guards what follows, and `comm` where it may not be there yet
  bool finalized = false;
  bool revoked = false;
  bool suspended = false;
  std::string grow_purpose;  // of the id that ncclCommGetUniqueId gave and nobody used yet
  int next_operation = ncclNumOps;
  std::map<int, UserOperation> operations;
  uintptr_t last_registration = 0;
  std::map<uintptr_t, Registration> registrations;

  std::shared_ptr<Communicator> made() {
    std::lock_guard lock(mutex);
    return comm;
  }
};

ncclComm_t add_handle(std::shared_ptr<Communicator> comm);
// Of a communicator that is yet to be made; who makes it sets `comm`.
ncclComm_t add_handle(std::shared_ptr<Handle> handle);

// A communicator that takes calls now; fails with what its making failed with, and while work of it
// goes on in the background.
Result<std::shared_ptr<Handle>> find_handle(ncclComm_t comm);
// In any state.
Result<std::shared_ptr<Handle>> find_any_handle(ncclComm_t comm);
// As find_any_handle, and the handle is no longer valid.
Result<std::shared_ptr<Handle>> remove_handle(ncclComm_t comm);

// Whether the communicator takes collectives: not finalized, not revoked, not
// suspended, not failed.
Status check_usable(Handle& handle);

}  // namespace strait::api
