// GpuEngine: carries out the plans of one communicator on its GPU. Launches kernels into the
// program's streams, keeps what they need (kernels, ports, plans, scratch), and has the one thread
// that turns links for them (proxy.hpp), watches over them, and tells the first failure.
//
// launch() belongs to the thread whose turn it is on the communicator. stop(), idle() and drain()
// may be called from any thread. A launch costs a few microseconds; binding a plan costs
// allocations and copies, once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/cuda/capture.hpp"
#include "base/cuda/context.hpp"
#include "base/cuda/memory.hpp"
#include "base/cuda/stream.hpp"
#include "base/doorbell.hpp"
#include "exec/cuda/call_order.hpp"
#include "exec/cuda/kernels.hpp"
#include "exec/cuda/lowering.hpp"
#include "exec/cuda/peer_rings.hpp"
#include "exec/cuda/proxy.hpp"
#include "exec/host_execution.hpp"

namespace strait {

class GpuEngine {
 public:
  struct Terms {
    int device = 0;
    uint32_t slots = 2;
    size_t slot_bytes = 0;   // of a piece
    uint32_t threads = 512;  // of a block
    int lanes_max = 0;       // blocks of sends and receives at most; 0: no bound of the program's
    int blocks_max = 0;      // that run beside each other; 0: no bound
    int64_t timeout_ms = 0;  // without any progress
    Doorbell* doorbell = nullptr;
    std::optional<PeerRings::Terms> peers;  // GPUs that kernels reach themselves
    bool keeps_launch_order = false;        // among all engines of the GPU that do
  };

  // A plan on the device, and what its links will be asked to move.
  struct GpuPlan {
    cuda::DeviceMemory image;  // lanes, then steps
    const DeviceLane* lanes = nullptr;
    const DeviceStep* steps = nullptr;
    uint32_t blocks = 0;
    uint64_t scratch_bytes = 0;
    uint64_t staging_bytes = 0;
    uint64_t plain_bytes = 0;              // that a run sends on plain edges
    bool coded = false;                    // the kernel codes
    const cuda::Kernel* kernel = nullptr;  // the engine's
    std::vector<Proxy::Load> loads;
  };

  struct GpuCall {
    Request request;
    uint64_t number = 0;
    Arithmetic arithmetic;
    Coding coding;
    const void* input = nullptr;
    void* output = nullptr;
    const void* scalar_place = nullptr;  // not null: the factor is read there when the call runs
  };

  static Result<std::unique_ptr<GpuEngine>> create(Terms terms);
  // Stops what runs. The engine goes when the last kernel has left and no graph holds a call of it:
  // now, or with a later engine.
  static void dismiss(std::unique_ptr<GpuEngine> engine);
  // Nothing of it runs any more: dismiss() sees to that.
  ~GpuEngine();
  GpuEngine(const GpuEngine&) = delete;
  GpuEngine& operator=(const GpuEngine&) = delete;

  // Before the first launch. on_failure is called at most once, on the engine's thread: why the
  // communicator fails.
  void serve(const Coding& coding, TrafficCounters& traffic,
             std::function<void(const Status& why)> on_failure);

  // Work beside the engine's own, on the same GPU: its kernels look at report()'s abort, and the
  // engine stays until they have ended.
  struct Companion {
    virtual ~Companion() = default;
    virtual bool has_left() = 0;
  };
  void attach(std::shared_ptr<Companion> companion);
  // Of such work in a graph: `begin` is called when a replay comes to it, in the stream's order,
  // and `kept` stays until the graph is gone.
  Status capture(const cuda::Capture& into, std::function<void()> begin,
                 std::shared_ptr<const void> kept, cuda::StreamHandle stream);
  DeviceReport* report() const {  // as kernels name it
    return reinterpret_cast<DeviceReport*>(report_memory_.pointer());
  }
  // Null where kernels reach no other GPU.
  const PeerRings* peers() const { return peers_.get(); }
  cuda::ContextHandle context() const { return context_.get(); }

  int64_t timeout_ms() const { return terms_.timeout_ms; }
  int device() const { return terms_.device; }
  // Of this engine's context.
  Status check_stream(cuda::StreamHandle stream) const;
  // Of the capture that the stream is in; 0: none.
  Result<uint64_t> capture_id(cuda::StreamHandle stream) const;
  const cuda::Driver& driver() const { return driver_; }

  // The plan of a collective. The bound plan's links stay as long as the engine does.
  Result<std::shared_ptr<const GpuPlan>> bind(const BoundPlan& bound, DataType type);
  Status launch(std::shared_ptr<const GpuPlan> plan, const GpuCall& call,
                cuda::StreamHandle stream);
  // A plan that kernels may still read is nobody else's any more.
  void keep(std::shared_ptr<const GpuPlan> plan) { kept_.push_back(std::move(plan)); }

  struct PointToPoint {
    const BoundPlan* bound = nullptr;
    Request request;
    const void* address = nullptr;  // of what is sent, or where it goes
    int distance = 0;               // from the sender to the receiver, round the ranks
  };
  // Makes what launch() needs; may wait for peers that prepare the other end for the first time.
  Status prepare(const std::vector<PointToPoint>& operations);
  // Sends and receives of one batch, in one kernel: beside each other as message_blocks.hpp says.
  Status launch(const std::vector<PointToPoint>& operations, cuda::StreamHandle stream);
  Status copy(void* target, const void* source, size_t bytes, cuda::StreamHandle stream);

  // What streams of one group wait for: all of `others` have come, and all go on after `stream`.
  Status join(cuda::StreamHandle stream, const std::vector<cuda::StreamHandle>& others);
  Status part(cuda::StreamHandle stream, const std::vector<cuda::StreamHandle>& others);

  // Ends the kernels that run; for good.
  void stop();
  // Everything launched has ended and left.
  bool idle();
  Status drain(Deadline deadline);
  // What a peer that failed said by a link, whether anything waits for it or not. Any thread.
  Status peer_failure();
  // Calls in graphs that still exist.
  size_t graphs_alive();
  // Of an idle engine that no graph holds a call of: gives back rings, links and scratch. Plans are
  // of no use any more; all comes back as it is needed.
  void release_memory();
  uint64_t releasable_bytes() const {
    return own_bytes_.load() + (peers_ ? peers_->memory_bytes() : 0);
  }
  // Until no graph that holds a call of this engine is left.
  Status wait_for_graphs(Deadline deadline);

 private:
  // A call in a graph: each replay begins it anew.
  struct Launched {
    std::function<void()> begin;
    std::shared_ptr<const void> kept;  // what its kernel reads
    std::atomic<bool> gone{false};     // with its graph; partner: graphs_alive()
  };

  explicit GpuEngine(Terms terms, const cuda::Driver& driver, cuda::PrimaryContext context)
      : terms_(std::move(terms)), driver_(driver), context_(std::move(context)) {}
  Status prepare();

  Result<DevicePort*> port_of(const StepPorts& ports, Direction direction, bool coded, int peer);
  Result<DevicePort*> stage(const StepPorts& ports, Direction direction, bool coded, int peer);
  std::optional<PinnedPlaces> pin(SlotPlaces places) const;
  Result<DevicePort*> reach(const StepPorts& ports, Direction direction, int peer);
  Status watched_links();
  Result<DevicePort*> add_port(const DevicePort& port);
  Status open_receivers(const BoundPlan& bound);
  struct Lowered {
    LoweredPlan plan;
    uint64_t plain_bytes = 0;
    std::vector<Proxy::Load> loads;
  };
  Result<Lowered> lower_with_ports(const BoundPlan& bound, DataType type);
  Result<std::shared_ptr<const GpuPlan>> bind(const std::vector<PointToPoint>& operations);
  Result<std::shared_ptr<const GpuPlan>> batch_of(const std::vector<PointToPoint>& operations);
  Result<std::shared_ptr<GpuPlan>> upload(const LoweredPlan& lowered,
                                          std::vector<Proxy::Load> loads);
  Status write(cuda::DevicePointer target, const void* source, size_t bytes);
  Status reserve(cuda::DeviceMemory& memory, uint64_t bytes, const char* purpose);
  Status start(std::shared_ptr<const GpuPlan> plan, DeviceCall call, cuda::StreamHandle stream);
  void begun(const GpuPlan& plan);
  static void begin_replay(void* launched);
  static void graph_is_gone(void* launched);
  static void free_dismissed();
  void leave();  // the thread ends
  bool has_left();

  void watch();
  Result<uint64_t> look_around(uint64_t* progress_seen);
  Status kernel_failure() const;
  Status device_failure();
  Status stall();
  std::string place_of(const DeviceReport& report) const;
  bool busy();
  bool is_to_watch();

  Terms terms_;
  const cuda::Driver& driver_;
  cuda::PrimaryContext context_;
  CollectiveKernels kernels_;
  cuda::Stream own_stream_;
  cuda::PinnedMemory report_memory_;
  DeviceReport* report_ = nullptr;
  cuda::DeviceMemory arrivals_;
  cuda::DeviceMemory scratch_;
  cuda::DeviceMemory staging_;
  std::vector<cuda::DeviceMemory> retired_;  // earlier ones of both, which kernels may still use
  struct Slab {
    cuda::DeviceMemory memory;
    uint32_t used = 0;
  };
  std::vector<Slab> ports_;
  std::atomic<uint64_t> own_bytes_{0};  // of scratch, staging, ports; partner: releasable_bytes()
  std::map<const void*, std::pair<DevicePort*, Proxy::Duty*>> bound_;  // by SendPort or RecvLink
  std::unique_ptr<PeerRings> peers_;
  // Beside links that kernels turn: by them the other end tells that it failed.
  std::mutex watched_mutex_;
  struct Watched {
    std::function<Status()> status;
    std::function<bool()> peer_gave_up;
  };
  std::vector<Watched> watched_;
  using BatchName = std::vector<std::tuple<Collective, DataType, uint64_t, int, const void*>>;
  std::map<BatchName, std::shared_ptr<const GpuPlan>> batches_;  // of sends and receives
  std::vector<std::shared_ptr<const GpuPlan>> kept_;
  std::vector<std::unique_ptr<Launched>> captured_;     // guarded by mutex_
  std::vector<std::shared_ptr<Companion>> companions_;  // guarded by mutex_
  std::shared_ptr<CallOrder> order_;
  std::shared_ptr<CallOrder> device_order_;  // where the host's launch order is kept, else null
  std::atomic<uint64_t> launched_{0};        // partner: busy()
  std::atomic<bool> stopped_{false};         // partner: watch()

  std::unique_ptr<Proxy> proxy_;
  std::function<void(const Status& why)> on_failure_;
  TrafficCounters* traffic_ = nullptr;
  Coding coding_;  // of sends and receives
  std::mutex mutex_;
  std::condition_variable wake_;
  bool leaving_ = false;
  std::thread thread_;
};

}  // namespace strait
