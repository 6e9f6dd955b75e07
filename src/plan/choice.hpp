// Choice: how a request will be carried out, made from values equal on all ranks, so that every
// rank makes the same. A plain value; its text form is logged in one line with the reason.
// Compression is not part of it: it changes wires, never plans.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/algorithms.hpp"
#include "base/config.hpp"
#include "base/status.hpp"
#include "plan/plan.hpp"
#include "plan/reproducible.hpp"
#include "plan/request.hpp"
#include "topology/topology.hpp"

namespace strait {

struct Choice {
  Algorithm algorithm = Algorithm::kRing;
  int lanes = 1;
  uint64_t piece = 1;  // elements per round and lane, at most (slot bytes / element bytes)
  std::string reason;  // for the log
  Reproducible reproducible = Reproducible::kOnLayout;  // what the order of addition depends on
};

// Depends on its arguments only. Where the collective has no such algorithm as the setting asks
// for, the choice is made as for auto and the reason says so; a setting that is no algorithm at all
// is an error. The request's own limits come after the setting's, and may insist.
// `config.device` is "gpu" where the ranks are on GPUs; anything else stands for hosts.
Result<Choice> choose(const Request& request, const Topology& topology, const Config& config);

// The plan of one rank. Pure: any rank can make any rank's plan.
Result<Plan> make_plan(const Request& request, const Topology& topology, const Choice& choice,
                       int rank);

}  // namespace strait
