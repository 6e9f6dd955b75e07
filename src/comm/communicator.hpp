// Communicator: one rank's membership in a group of ranks. Holds who the ranks are (topology), how
// they are reached (transports, connections), the plans made so far, and the first failure. Shared
// by handle, groups and streams.
//
// Batches run one at a time in the order in which they took their ticket, whichever threads run
// them. take_ticket() is called in the program's order; run() blocks the running thread. failure(),
// abort(), stats() may be called from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/status.hpp"
#include "comm/connections.hpp"
#include "comm/device.hpp"
#include "comm/gpu_side.hpp"
#include "comm/operation.hpp"
#include "comm/plan_cache.hpp"
#include "comm/progress.hpp"
#include "comm/rma.hpp"
#include "comm/station.hpp"
#include "comm/unique_id.hpp"
#include "exec/driver.hpp"
#include "exec/host_execution.hpp"
#include "plan/choice.hpp"
#include "topology/topology.hpp"
#include "transport/net/listener.hpp"

namespace strait {

struct TrafficStats {
  uint64_t plain_bytes;
  uint64_t lent_bytes;  // of these
  uint64_t coded_value_bytes;
  uint64_t coded_wire_bytes;
};

// By what further communicators are made from one: how its ranks find each other again.
struct Kin {
  Secret secret{};                      // known to the ranks alone
  std::vector<std::string> places;      // by rank: where its process can be called
  std::shared_ptr<net::Listener> door;  // where this process is called
  std::vector<uint8_t> ways;            // by rank: which transport reaches it
};

class Communicator {
 public:
  // Made by join() and share(); everything a communicator is built from.
  struct Parts {
    int rank = 0;
    Device device;
    std::unique_ptr<GpuEngine> engine;  // of a rank on a GPU
    Config config;
    Topology topology;
    std::shared_ptr<Station> station;
    int band = 0;  // of lanes at the station
    std::vector<PeerRoute> routes;
    Kin kin;
    std::shared_ptr<Progress> progress;
  };

  static std::shared_ptr<Communicator> make(Parts parts);
  explicit Communicator(Parts parts);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return parts_.rank; }
  int rank_count() const { return parts_.topology.rank_count(); }
  const Device& device() const { return parts_.device; }
  const Topology& topology() const { return parts_.topology; }
  const Config& config() const { return parts_.config; }
  const Parts& parts() const { return parts_; }
  // Where calls go on in the background; the calls of blocking communicators do not.
  const std::shared_ptr<Progress>& progress() const { return parts_.progress; }
  // "split 3": the text that tells the next communicator made for this purpose from all others. To
  // be called in the program's order, which is the same on all ranks.
  std::string next_child(const std::string& purpose);
  // What next_child() will return.
  std::string peek_child(const std::string& purpose) const;

  // Ok if this rank reaches the operation's buffers, and a GPU's streams are its own.
  Status check_places(const Operation& operation, void* stream);
  // The same of a one-sided call.
  Status check_one_sided(const RmaCall& call, void* stream);
  // On a GPU: of the capture that the stream is in; 0: none.
  Result<uint64_t> capture_id(void* stream) const { return gpu_->capture_id(stream); }

  // Ok if this rank's choice for the request can respect its limits; the same on all ranks.
  Status check_limits(const Request& request) const;

  // One thread at a time makes calls: false when another one is in a call. After true, leave().
  bool enter() { return callers_.fetch_add(1) == 0 || (leave(), false); }
  void leave() { callers_.fetch_sub(1); }

  uint64_t take_ticket();
  // The work of run() in two parts, both to be called once. prepare() may wait for peers that make
  // the same call for the first time. launch() begins what prepare() has prepared; on a GPU it does
  // not wait, and is for the thread that owns the streams.
  Status prepare(uint64_t ticket, const std::vector<Operation>& operations);
  Status launch(const std::vector<Operation>& operations, std::span<void* const> streams);
  // All was called before, so prepare() will not wait.
  bool is_prepared(const std::vector<Operation>& operations) const;
  // Carries out the operations together: collectives in order, sends and receives beside them. On a
  // GPU they are queued into the first stream, and the other streams wait for them.
  Status run(uint64_t ticket, const std::vector<Operation>& operations,
             std::span<void* const> streams = {});
  // Until no CUDA graph holds a call of this communicator.
  Status wait_for_graphs();
  // Waits until every ticket taken so far has run and everything sent has left this process.
  Status drain(Deadline deadline);

  // The first failure; ok if there was none.
  Status failure() const;
  // The same, and a peer's failure counts though nothing waits for the peer.
  Status failure_anywhere();
  // Keeps the failure if it is the first, and ends everything that waits, here and on the peers.
  void fail(const Status& why);
  // As fail() but asked for, not gone wrong; waits (bounded) until no thread runs a batch.
  void end_work(const Status& why);
  // Ends the work of this communicator and of all that share its station.
  void abort();
  // No thread runs a batch.
  bool is_quiet() const;

  // Opens what one-sided calls need, if that was not done; every rank at the same place in its
  // order of calls.
  Status open_rma();
  // Null before that.
  std::shared_ptr<Rma> rma() const;
  // On a host: puts and signals, then waits.
  Status run(const std::vector<RmaCall>& calls);
  // On a GPU: the one part or the other, into the first stream; the others wait for it.
  enum class RmaPart { kPuts, kWaits };
  Status queue(const std::vector<RmaCall>& calls, RmaPart part, std::span<void* const> streams);
  // Null on a host.
  GpuSide* gpu() const { return gpu_.get(); }

  // Gives back links and working memory; every rank at the same place in its order of calls, which
  // is a barrier. They come back by themselves.
  Status release_memory();
  uint64_t releasable_bytes() const;
  uint64_t kept_bytes() const;

  int64_t wait_ms() const;  // without progress

  TrafficStats stats() const;
  void reset_stats();
  // To one peer in another domain, since the communicator was made.
  CodedBytes coded_to(int peer) const { return connections_.coded_to(peer); }

 private:
  Result<std::shared_ptr<GpuOneSided>> open_gpu_rma(const Rma::Terms& terms, Deadline deadline);
  bool stop(const Status& why);
  Status attempt(const std::function<Status()>& work);
  Status drive_on_host(const std::vector<Operation>& operations);
  Status prepare_plans(const std::vector<Operation>& operations);
  Result<Plan> plan_for(const Request& request, const Choice& choice) const;
  std::vector<Chain> make_chains(const std::vector<Operation>& operations);
  std::unique_ptr<HostExecution> make_execution(const Operation& operation, std::byte* work);
  Coding coding_of(const WireWishes& wishes) const;
  Status copy_to_self(const std::vector<Operation>& operations) const;
  bool is_idle(const Operation& operation) const;  // nothing to do: no elements, or to itself

  Parts parts_;
  Connections connections_;
  PlanCache plans_;
  TrafficCounters traffic_;
  TrafficStats traffic_base_{};  // what reset_stats() subtracts
  codec::Options codec_;
  std::vector<std::byte> work_;          // scratch and staging of the running batch; grows only
  std::atomic<uint64_t> work_bytes_{0};  // partner: releasable_bytes()
  uint64_t call_count_ = 0;              // collectives so far; the running thread's
  std::unique_ptr<GpuSide> gpu_;         // of a rank on a GPU; ends before what it uses

  std::atomic<int> callers_{0};  // partner: enter() of other threads

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable turn_changed_;
  uint64_t tickets_ = 0;  // taken
  uint64_t served_ = 0;   // finished
  Status failure_;
  std::map<std::string, uint64_t> children_;  // made so far, by purpose
  std::shared_ptr<Rma> rma_;                  // last: its agent uses the rest
};

}  // namespace strait
