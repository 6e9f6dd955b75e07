// Verifier: proves a call right before anything moves. It runs the plans of all ranks through the
// interpreter over bounded queues, moving provenance instead of bytes, and finds: a wrong,
// incomplete, repeated or unfinished result on any rank; a hang; a read of what was never written;
// an input that was overwritten too early; a message of the wrong size or wire, or one that nobody
// takes; lanes that meet; a step outside its buffers. All that may be lent (loans.hpp) is lent, and
// given back as late as may be: whoever lends less waits less.
//
// One run proves all runs: what a lane of a rank waits for (a message, a slot, a loan given back)
// stays there once it is, so whether it ends, and with what, does not depend on who runs first.
// Values are runs of elements, so the cost is the number of pieces, not of elements: plans are
// verified at their real counts. Pure; any thread; a few microseconds per piece.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "plan/choice.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"
#include "topology/topology.hpp"

namespace strait {

// One rank's side of the matter. Collectives: the same request for all. Send and receive: each rank
// its own; a rank that takes no part has a request of count 0 and a plan without lanes.
struct Call {
  Request request;
  Plan plan;
};

struct Conditions {
  int slots = 0;                  // of every link; 0: as few as the plans say
  bool in_place = false;          // input and output share memory as in_place_offset() says
  bool overwrites_loans = false;  // as LoanTerms::overwrites
};

// Calls by rank. The failure names rank, lane, step and what is wrong.
Status verify(const std::vector<Call>& calls, const Conditions& conditions);

// Plans a collective for all ranks and verifies it out of place and, where there is such a call, in
// place.
Status verify_collective(const Request& request, const Topology& topology, const Choice& choice);

}  // namespace strait
