// From a call that makes a communicator to the thread's group, and from there to the caller's
// ncclComm_t. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "api/handle.hpp"
#include "base/config.hpp"
#include "base/status.hpp"

namespace strait::api {

// The environment, read now (never at load time: programs set variables before they make a
// communicator), with the program's wishes.
Result<Config> read_settings(const ncclConfig_t* options);

bool is_blocking(const Config& config);

struct NewComm {
  ncclComm_t* out;
  Config config;
  // `progress` is the new communicator's; may return null, for none.
  std::function<Result<std::shared_ptr<Communicator>>(const std::shared_ptr<Progress>& progress)>
      make;
  // In place of make(): tells those who wait for this rank.
  std::function<void(const Status& why)> give_up;
  // Of the communicator that it is made from: its calls go on in the background, and the caller
  // gets the new one when it is there. Null: the new one's own.
  std::shared_ptr<Handle> parent = {};
};

// Adds it to the group, or makes it now; kInProgress when that goes on in the background.
Status submit(NewComm comm);

// A refused call inside a group makes the group fail.
Status refuse_in_group(const Status& status);

}  // namespace strait::api
