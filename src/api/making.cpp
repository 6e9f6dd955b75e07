#include "api/making.hpp"

#include <unistd.h>

#include <mutex>

#include "api/comm_config.hpp"
#include "api/other_nccl.hpp"
#include "base/log.hpp"
#include "comm/group.hpp"

namespace strait::api {
namespace {

// For the caller when it is done.
Making beside_parent(NewComm comm) {
  auto progress = std::make_shared<Progress>(is_blocking(comm.config));
  Making making;
  making.first = false;
  if (!comm.parent->progress->blocking()) making.background = comm.parent->progress;
  making.run = [out = comm.out, progress, make = std::move(comm.make)]() -> Status {
    STRAIT_ASSIGN(auto made, make(progress));
    if (made) *out = add_handle(std::move(made));
    return Status();
  };
  making.give_up = std::move(comm.give_up);
  return making;
}

// For the caller at once, if it is non-blocking.
Making on_its_own(NewComm comm) {
  auto handle = std::make_shared<Handle>();
  handle->progress = std::make_shared<Progress>(is_blocking(comm.config));
  Making making;
  if (!handle->progress->blocking()) {
    making.background = handle->progress;
    *comm.out = add_handle(handle);
  }
  making.run = [out = comm.out, handle, make = std::move(comm.make)]() -> Status {
    STRAIT_ASSIGN(auto made, make(handle->progress));
    if (handle->progress->blocking()) {
      *out = add_handle(std::move(made));
      return Status();
    }
    std::lock_guard lock(handle->mutex);
    handle->comm = std::move(made);
    return Status();
  };
  making.give_up = [handle, give_up = std::move(comm.give_up)](const Status& why) {
    handle->progress->fail(why);
    give_up(why);
  };
  return making;
}

}  // namespace

Result<Config> read_settings(const ncclConfig_t* options) {
  STRAIT_ASSIGN(Config config, Config::from_environment());
  set_log(config.debug, config.debug_file, config.debug_subsys);
  static std::once_flag warned;
  std::call_once(warned, [] {
    for (const std::string& warning : unknown_settings(environ)) log_warn("{}", warning);
    warn_of_other_nccl();
  });
  for (const std::string& line : config.set_by_environment()) log_info(LogPart::kEnv, "{}", line);
  STRAIT_TRY(apply_comm_config(options, config));
  return config;
}

bool is_blocking(const Config& config) {
  return config.blocking != 0;
}

Status submit(NewComm comm) {
  const bool from_parent = comm.parent != nullptr;
  return Group::current().submit(from_parent ? beside_parent(std::move(comm))
                                             : on_its_own(std::move(comm)));
}

Status refuse_in_group(const Status& status) {
  const bool refused = !status.ok() && status.code() != Code::kInProgress;
  return refused ? Group::current().refuse(status) : status;
}

}  // namespace strait::api
