// PlannedCall: one call of a collective as the command line describes it, on ranks that need not
// exist, with the choice that the library would make for it under the settings of this environment.
// A value; one thread; as cheap as choosing is.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/status.hpp"
#include "plan/choice.hpp"
#include "plan/verifier.hpp"

namespace strait::tool {

// The flags that `plan` and `sim` share.
struct CallFlags {
  std::string collective;
  std::optional<int> ranks;
  std::string topology;
  std::string count;
  std::string type = "float";
  std::string reduce = "sum";
  std::string algorithm;
  std::optional<int> root;
  std::optional<int> rank;
  std::string lanes;
  std::string chunk;

  void add_to(CLI::App& command);
};

struct PlannedCall {
  Request request;
  Topology topology;
  Config config;
  Choice choice;
  int rank = 0;  // whose side a send or receive is

  bool one_sided() const {
    return request.collective == Collective::kSend || request.collective == Collective::kReceive;
  }
  uint64_t bytes() const;        // what nccl-tests calls the size: the larger buffer
  std::string headline() const;  // the call, the choice and its reason
  Result<Plan> plan(int of_rank) const;
  // All ranks; a send or receive has its peer's side too, and others that take no part.
  Result<std::vector<Call>> calls() const;
};

Result<PlannedCall> make_call(const CallFlags& flags);

// Proves the call right on all ranks, out of place and, where there is such a call, in place.
Status prove(const PlannedCall& call);

}  // namespace strait::tool
