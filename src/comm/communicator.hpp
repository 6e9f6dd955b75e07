// Communicator: one rank's membership in a group of ranks. Holds who the ranks are (topology), how
// they are reached (transports, connections), the plans made so far, and the first failure. Shared
// by handle, groups and streams.
//
// Batches run one at a time in the order in which they took their ticket, whichever threads run
// them. take_ticket() is called in the program's order; run() blocks the running thread. failure(),
// abort(), stats() may be called from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/doorbell.hpp"
#include "base/shared_memory.hpp"
#include "base/status.hpp"
#include "comm/connections.hpp"
#include "comm/operation.hpp"
#include "comm/plan_cache.hpp"
#include "comm/unique_id.hpp"
#include "exec/driver.hpp"
#include "exec/host_execution.hpp"
#include "topology/topology.hpp"

namespace strait {

struct TrafficStats {
  uint64_t plain_bytes;
  uint64_t coded_value_bytes;
  uint64_t coded_wire_bytes;
};

class Communicator {
 public:
  // Made by join(); everything a communicator is built from.
  struct Parts {
    int rank;
    int device;
    Config config;
    Topology topology;
    SharedMemory doorbell_memory;
    std::unique_ptr<Doorbell> doorbell;
    std::vector<std::unique_ptr<Transport>> transports;
    std::vector<PeerRoute> routes;
  };

  // Meets the other ranks and agrees with them; fails on every rank if it fails on one.
  static Result<std::shared_ptr<Communicator>> join(const UniqueId& id, int rank, int rank_count,
                                                    int device, const Config& config);
  explicit Communicator(Parts parts);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return parts_.rank; }
  int rank_count() const { return parts_.topology.rank_count(); }
  int device() const { return parts_.device; }
  const Topology& topology() const { return parts_.topology; }

  // Ok if this rank's choice for the request can respect its limits; the same on all ranks.
  Status check_limits(const Request& request) const;

  uint64_t take_ticket();
  // Carries out the operations together: collectives in order, sends and receives beside them.
  Status run(uint64_t ticket, const std::vector<Operation>& operations);
  // Waits until every ticket taken so far has run and everything sent has left this process.
  Status drain(Deadline deadline);

  // The first failure; ok if there was none.
  Status failure() const;
  // Keeps the failure if it is the first, and ends everything that waits, here and on the peers.
  void fail(const Status& why);
  // fail(), then waits (bounded) until no thread runs a batch.
  void abort();

  TrafficStats stats() const;
  void reset_stats();

 private:
  Status run_now(const std::vector<Operation>& operations);
  Status prepare_plans(const std::vector<Operation>& operations);
  Result<Plan> plan_for(const Request& request) const;
  std::vector<Chain> make_chains(const std::vector<Operation>& operations);
  std::unique_ptr<HostExecution> make_execution(const Operation& operation, std::byte* work);
  codec::Options codec_of(const WireWishes& wishes) const;
  Status copy_to_self(const std::vector<Operation>& operations) const;
  bool is_to_self(const Request& request) const;
  bool is_idle(const Operation& operation) const;  // nothing to do: no elements, or to itself

  Parts parts_;
  Connections connections_;
  PlanCache plans_;
  TrafficCounters traffic_;
  TrafficStats traffic_base_{};  // what reset_stats() subtracts
  codec::Options codec_;
  std::vector<std::byte> work_;  // scratch and staging of the running batch; grows only
  uint64_t call_count_ = 0;      // collectives so far; the running thread's

  mutable std::mutex mutex_;
  std::condition_variable turn_changed_;
  uint64_t tickets_ = 0;  // taken
  uint64_t served_ = 0;   // finished
  Status failure_;
};

}  // namespace strait
