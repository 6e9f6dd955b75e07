// Simulator: how long a call takes and where it waits, on machines that need not exist. It runs the
// plans of all ranks through the interpreter, moving times instead of bytes. Pure; any thread;
// about a microsecond per piece.
//
// The model: a rank's lanes share one engine, which copies, adds, encodes and decodes one piece at
// a time. Inside a domain each pair of ranks has a pipe per direction. Between domains a message
// passes its rank's NIC and its domain's uplink, which all ranks of the domain share, both at once
// (cut-through). A pipe takes one message at a time, in the order they come. A slot is free again
// when the receiver's step has ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "plan/verifier.hpp"
#include "topology/topology.hpp"

namespace strait {

// Rates are GB/s (1e9 bytes per second); 0: infinitely fast.
struct Speeds {
  double inside_latency_us = 0;
  double inside_rate = 0;  // of each pair of ranks, each way
  double between_latency_us = 0;
  double nic_rate = 0;     // of what one rank sends to other domains
  double uplink_rate = 0;  // of what leaves a domain, all its ranks together
  double memory_rate = 0;  // of an engine, by the bytes a step yields
  double codec_rate = 0;   // of an engine that encodes or decodes, by plain bytes
  double coded_share = 1;  // coded bytes per plain byte
  double step_us = 0;      // fixed cost of a piece
};

// Time in microseconds.
struct RankTimes {
  double end_us = 0;
  double busy_us = 0;          // of its engine
  double message_wait_us = 0;  // of all lanes together: for a message, a slot, the engine
  double slot_wait_us = 0;
  double engine_wait_us = 0;
};

struct Simulation {
  double total_us = 0;
  std::vector<RankTimes> ranks;
  double inside_busy_us = 0;  // of the busiest pipe
  double uplink_busy_us = 0;  // of the busiest uplink
  double inside_bytes = 0;
  double between_bytes = 0;     // as coded
  double longest_wait_us = 0;   // of one step, all its rounds together
  std::string longest_wait_at;  // where in which plan
};

// Slots are those that the plans need, unless more are given. The calls are those that verify()
// takes, and should have passed it; a hang is an error all the same.
Result<Simulation> simulate(const std::vector<Call>& calls, const Topology& topology,
                            const Speeds& speeds, int slots = 0);

}  // namespace strait
