// GpuOneSided: puts, signals and waits of one rank on its GPU, queued into the program's streams.
// A peer whose memory the GPU reaches is written to by the GPU alone: one copy, then a signal in
// the peer's memory. What goes to any other peer lies in a ring of pinned memory, from which the
// host sends it on, and the host counts the signals that come from there:
//
//   GPU peer:   copy ──> its window      signal ──> its board
//   by links:   put kernel ──> ring ──> outgoing() ... link ... write(), add()
//
// put(), post(), wait() belong to the threads that own the streams; the rest to the host's thread
// that serves one-sided calls. A launch costs some microseconds. Shared with the graphs that hold
// its calls and with the engine, which keeps it until its kernels have ended.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "exec/cuda/engine.hpp"
#include "exec/cuda/one_sided_call.hpp"
#include "exec/signal_name.hpp"

namespace strait {

class GpuOneSided : public GpuEngine::Companion, public std::enable_shared_from_this<GpuOneSided> {
 public:
  struct Terms {
    int rank = 0;
    SignalShape shape;
    uint32_t slots = 2;
    size_t piece_bytes = 0;      // of a message to the host
    int64_t timeout_ms = 0;      // of a wait in which no signal comes
    std::function<void()> wake;  // the host's thread: something of it is to be looked at
  };

  // Every rank must do so at the same time: maps the boards of its peers' GPUs.
  static Result<std::shared_ptr<GpuOneSided>> open(GpuEngine& engine, Terms terms,
                                                   Deadline deadline,
                                                   const std::function<Status()>& stopped);
  GpuOneSided(GpuEngine& engine, Terms terms, cuda::PrimaryContext context)
      : engine_(engine),
        driver_(engine.driver()),
        terms_(std::move(terms)),
        context_(std::move(context)) {}

  // Its window is written by this GPU itself.
  bool reaches(int peer) const;

  struct Put {
    const void* source = nullptr;
    uint64_t bytes = 0;  // 0: only the signal
    // To a GPU that is reached: where to, and the mapping that must stay.
    void* target = nullptr;
    std::shared_ptr<const PeerMemory> mapping;
    // By links.
    uint32_t window = 0;
    uint64_t offset = 0;
  };
  Status put(const Put& put, const SignalName& to, cuda::StreamHandle stream);
  Status wait(const std::vector<SignalWait>& waits, cuda::StreamHandle stream);
  // A mapping that nobody names any more stays while kernels may still use it.
  void retire(std::shared_ptr<const PeerMemory> mapping);

  // ---- For the host's thread.
  // The oldest message that is to be sent on.
  struct Outgoing {
    int peer = 0;
    PutHeader header;
    std::span<const std::byte> bytes;
  };
  std::optional<Outgoing> outgoing() const;
  void sent();
  // What came over a link, into memory of this GPU or host memory that it reaches.
  Status write(std::byte* target, std::span<const std::byte> bytes);
  void add(const SignalName& name);
  // Why some wait has lasted too long: its deadline, or what `gone` says of the peer.
  Status look_at_waits(const std::function<Status(int peer)>& gone);
  // Puts are on their way through the ring.
  bool has_puts() const;
  // Any kernel of a one-sided call is queued or runs.
  bool busy() const;
  bool has_left() override;
  // Nobody is there to be woken any more.
  void close();
  uint64_t memory_bytes() const;

 private:
  Status prepare(Deadline deadline, const std::function<Status()>& stopped);
  Status signal(const Put& put, const SignalName& to, cuda::StreamHandle stream);
  Status post(const Put& put, const SignalName& to, cuda::StreamHandle stream);
  template <class Call>
  Status launch(const cuda::Kernel& kernel, unsigned threads, const Call& call, bool by_ring,
                std::shared_ptr<const PeerMemory> mapping, cuda::StreamHandle stream);
  void begun(bool by_ring);
  DeviceOneSided device() const;
  uint64_t* sent_count(size_t place) const;
  uint64_t* taken_count(size_t place) const;
  const uint64_t* arrived_count(const SignalName& name) const;

  GpuEngine& engine_;  // used only while the communicator makes calls
  const cuda::Driver& driver_;
  const Terms terms_;
  cuda::PrimaryContext context_;
  cuda::Module module_;
  cuda::Kernel signal_;
  cuda::Kernel put_;
  cuda::Kernel wait_;
  cuda::Stream own_stream_;
  cuda::DeviceMemory own_;  // state, sent counts, taken counts
  cuda::PinnedMemory report_memory_;
  cuda::PinnedMemory by_link_;  // counts of signals that came by links
  MarkedRing ring_;
  std::atomic<uint64_t> ring_next_{0};  // the host's; partner: has_puts() of other threads
  PeerMemory board_;                    // counts of signals that GPUs bring
  std::vector<PeerMemory> boards_;      // by rank; the peers' own

  struct Seen {
    uint64_t number = 0;
    uint64_t have = 0;
    uint32_t place = 0;
    int64_t since_ns = 0;
  };
  std::vector<Seen> seen_;                  // by record
  std::atomic<uint64_t> launched_{0};       // partner: busy()
  std::atomic<uint64_t> puts_launched_{0};  // partner: has_puts()
  mutable std::mutex mutex_;                // guards what follows
  bool closed_ = false;
  std::vector<std::shared_ptr<const PeerMemory>> retired_;
};

}  // namespace strait
