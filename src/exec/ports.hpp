// Ports: what a plan's steps hold of the links, resolved once when a plan is bound, so that a
// running step looks nothing up. A SendPort keeps the slot that a blocked step has already taken.
// Ports belong to the communicator's connections and are used by the thread that runs the
// communicator's work.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/sums.hpp"
#include "exec/wire_policy.hpp"
#include "plan/loans.hpp"
#include "plan/plan.hpp"
#include "transport/link.hpp"

namespace strait {

// Send and receive have links of their own, with lane numbers from here on, beside those of
// collectives.
inline constexpr int kPointToPointLane = 1 << 16;

struct SendPort {
  SendLink* link = nullptr;
  std::span<std::byte> held;  // taken, not yet committed
  WirePolicy policy;          // of coded chunks, where the mode is not given
  int rank = 0;               // both ends, for the log
  int peer = 0;
  bool tells = false;            // of changes of mode: the lanes to a peer behave alike
  size_t lends_from = SIZE_MAX;  // bytes: smaller messages go through slots
  // Of coded chunks so far; one thread counts, any reads. Partner: Connections::coded_to.
  std::atomic<uint64_t> coded_value_bytes{0};
  std::atomic<uint64_t> coded_wire_bytes{0};

  // The slot to fill; empty if none is free now.
  std::span<std::byte> take() {
    if (held.empty()) held = link->send_slot();
    return held;
  }
  void commit(size_t bytes, uint32_t tag) {
    held = {};
    link->commit(bytes, tag);
  }
  // As commit(), where the link reaches the bytes; returns the message's number.
  uint64_t lend(std::span<const std::byte> bytes, uint32_t tag) {
    held = {};
    return link->lend(bytes, tag);
  }
};

struct StepPorts {
  SendPort* send = nullptr;
  RecvLink* recv = nullptr;
  SumRole sum = SumRole::kAlone;
  Loan loan = Loan::kNever;  // of what it sends
  int lane = 0;              // of the links
};

// A plan ready to run: the ports of every step as ports[lane][step], and for every lane where in
// the staging memory its values lie on their way into a coded slot (elements), and how many
// messages it can have lent at a time.
struct BoundPlan {
  Plan plan;
  std::vector<std::vector<StepPorts>> ports;
  std::vector<uint64_t> staging_offsets;
  uint64_t staging_count = 0;
  std::vector<size_t> loans_max;
};

// Why a link has failed whose message cannot be pinned. The peer may be writing its reason at this
// moment, so it is looked for again for up to a second.
Status failure_of(const RecvLink& link);

// Fills staging_offsets and staging_count.
void place_staging(BoundPlan& bound);

}  // namespace strait
