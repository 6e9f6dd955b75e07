// Rma: one-sided calls of one rank: windows, puts and signals. Each pair of ranks has a link of its
// own for them, and each rank an agent, a thread that writes into the rank's windows what has come
// over these links and counts the signals, whatever the rank's own threads do meanwhile:
//
//   rank 3: put(window 7, signal 0)              rank 5's agent: copies into window 7, then
//     header | bytes  ->  link, in pieces   ->   adds signal 0 of rank 3 when the last piece is in
//
// Bytes cross the link once, with a copy into a slot and one out of it. Between threads of a
// process the caller writes into the window itself, with one copy and no agent; between processes
// of a host too, if the window lies in memory of ncclMemAlloc, and then only the signal crosses.
// On GPUs the calls are queued into streams, a peer that the GPU reaches is written to by the GPU,
// and the agent serves the others (exec/cuda/one_sided.hpp).
// What one rank sends to another stays in its order. Owned by the communicator, made when a first
// window is registered; calls may come from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/doorbell.hpp"
#include "comm/connections.hpp"
#include "comm/signal_board.hpp"
#include "comm/unique_id.hpp"
#include "comm/window_table.hpp"
#include "exec/cuda/one_sided.hpp"

namespace strait {

// Beside collectives (from 0) and send and receive.
inline constexpr int kRmaLane = kPointToPointLane + (1 << 15);

inline constexpr uint32_t kRmaTag = 0x52'4d'41'31;

class Rma {
 public:
  struct Terms {
    int rank = 0;
    std::vector<PeerRoute> routes;
    int lane = 0;  // of all its links
    uint32_t slots = 2;
    size_t slot_bytes = 0;
    Secret group{};  // the communicator's, by which ranks of a process find each other
    int contexts = 1;
    int signals = 1;
    bool zero_copy = true;   // into windows of other processes
    int64_t timeout_ms = 0;  // without any progress
    Doorbell* doorbell = nullptr;
    std::shared_ptr<GpuOneSided> gpu;             // of a rank on a GPU
    std::function<Status()> stopped;              // why the communicator does not go on, or ok
    std::function<void(const Status& why)> fail;  // ends the communicator
  };

  // Opens the links; every rank must do so at the same time.
  static Result<std::shared_ptr<Rma>> open(Terms terms, Deadline deadline);
  explicit Rma(Terms terms);
  ~Rma();
  Rma(const Rma&) = delete;
  Rma& operator=(const Rma&) = delete;

  WindowTable& windows() { return windows_; }
  const SignalShape& signals() const { return shape_; }
  const std::shared_ptr<GpuOneSided>& gpu() const { return terms_.gpu; }

  // On a host: puts and signals in order, then what is to be waited for.
  Status run(const std::vector<RmaCall>& calls);
  // On a GPU: either of them.
  Status queue_puts(const std::vector<RmaCall>& calls, cuda::StreamHandle stream);
  Status queue_waits(const std::vector<RmaCall>& calls, cuda::StreamHandle stream);
  void remove_window(uint32_t number);
  // Between begin() and end() a batch is on its way to run().
  void begin() { pending_.fetch_add(1); }
  void end();
  // Nothing is on its way, and all that was sent has left this process.
  bool idle() const;
  // Ends the agent, before what it uses ends. Neighbours may still be writing.
  void close();
  // Ends every wait and every link.
  void stop(const Status& why);
  uint64_t memory_bytes() const;

 private:
  struct Peer {
    std::mutex mutex;  // of senders
    std::unique_ptr<SendLink> send;
    std::unique_ptr<RecvLink> recv;
    // The agent's: the link to the peer has ended. Guarded by `state`.
    std::mutex state;
    Status gone;
  };

  Status connect(Deadline deadline);
  LinkSpec spec(int source, int destination) const;
  // Over the link: all of it, or only the signal of what has been written.
  Status send(const RmaCall& call, bool written);
  // Into the window of another process, if it can be reached: true.
  bool write_through(const RmaCall& call);
  // Into a window of this process, its own rank's or another one's.
  Status write(const RmaCall& call, Rma& target);
  std::shared_ptr<Rma> neighbour(int peer) const;
  Result<std::span<std::byte>> await_slot(Peer& peer);
  void serve();
  int64_t turn_ns() const;
  bool send_on();
  void look_at_waits();
  bool take_all(int rank);
  Status take(int rank, std::span<const std::byte> message);
  Status why_not(int peer);

  const Terms terms_;
  const SignalShape shape_;
  WindowTable windows_;
  SignalBoard board_;
  std::vector<std::unique_ptr<Peer>> peers_;
  int64_t waits_seen_ns_ = 0;        // the agent's
  std::atomic<int> pending_{0};      // partner: idle() of the thread that drains
  std::atomic<bool> ending_{false};  // partner: the agent, which looks at every wake-up
  std::thread agent_;
};

}  // namespace strait
