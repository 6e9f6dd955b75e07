// The driver: runs several executions beside each other on the calling thread until all are done,
// one fails, somebody stops it, or nothing moved for too long. Between looks it waits on the rank's
// doorbell. Executions in the same chain run one after another (calls of one communicator keep
// their order; messages to one peer keep theirs).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/doorbell.hpp"
#include "exec/host_execution.hpp"

namespace strait {

struct Chain {
  std::vector<std::unique_ptr<HostExecution>> executions;
  size_t next = 0;  // the first that is not done
};

struct Waiting {
  Doorbell* doorbell;
  int64_t timeout_ms;                      // without any progress
  const std::function<Status()>& stopped;  // ok, or why to stop (abort from another thread)
};

Status drive(std::vector<Chain>& chains, const Waiting& waiting);

}  // namespace strait
