// join: makes a communicator with the other ranks, or fails on every rank if it fails on one.
// Blocks up to the setting INIT_TIMEOUT_MS, or until its meeting is stopped; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/bootstrap.hpp"
#include "comm/communicator.hpp"

namespace strait {

struct JoinTerms {
  Meeting meeting;
  std::vector<UniqueId> ids = {};  // of all its roots, where there are several
  Config config;
  Device device;
  std::shared_ptr<Progress> progress;
  // Ranks that know each other from another communicator: which transport reaches each, and what
  // domain this one is in; else empty.
  std::vector<uint8_t> ways = {};
  std::string domain = {};
};

Result<std::shared_ptr<Communicator>> join(JoinTerms terms);

}  // namespace strait
