// What an ncclComm_t points to, and the list of those that exist, so that a destroyed or invented
// handle is an error and not a crash. Any thread; a lookup costs one uncontended lock.
#pragma once

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

struct Handle {
  std::shared_ptr<Communicator> comm;
  std::mutex mutex;  // guards what follows
  bool finalized = false;
  int next_operation = ncclNumOps;
  std::map<int, UserOperation> operations;
};

ncclComm_t add_handle(std::shared_ptr<Communicator> comm);
Result<std::shared_ptr<Handle>> find_handle(ncclComm_t comm);
// As find_handle, and the handle is no longer valid.
Result<std::shared_ptr<Handle>> remove_handle(ncclComm_t comm);

}  // namespace strait::api
