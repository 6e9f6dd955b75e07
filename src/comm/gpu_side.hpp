// GpuSide: how a communicator on a GPU carries out a batch: the plans as the engine knows them, and
// the order on the program's streams. Returns when everything is queued. For the thread whose turn
// it is on the communicator.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/cuda/pinned_memory.hpp"
#include "base/cuda/pointer.hpp"
#include "comm/operation.hpp"
#include "comm/plan_cache.hpp"
#include "exec/cuda/engine.hpp"

namespace strait {

// Names a stream of its own in each thread.
bool is_per_thread_stream(void* stream);

// Of a rank on a host: where a driver is in use, no buffer is memory of a GPU.
Status check_host(const Operation& operation, int rank);

class GpuSide {
 public:
  // How a call's chunks are made.
  using CodingOf = std::function<Coding(const WireWishes& wishes)>;

  GpuSide(std::unique_ptr<GpuEngine> engine, int rank, int rank_count, CodingOf coding_of)
      : engine_(std::move(engine)),
        rank_(rank),
        rank_count_(rank_count),
        coding_of_(std::move(coding_of)) {}

  ~GpuSide();
  GpuSide(const GpuSide&) = delete;
  GpuSide& operator=(const GpuSide&) = delete;

  GpuEngine& engine() const { return *engine_; }

  // The buffers, where there are some, are memory that this GPU reaches; the stream is of its
  // context.
  Status check(const Operation& operation, void* stream) const;
  // The same of a one-sided call, which may read at `source`.
  Status check_one_sided(const void* source, void* stream) const;
  // Whether a window may lie there; and what the driver says of the memory.
  Result<cuda::PointerFacts> check_window(const void* base, uint64_t bytes) const;
  Result<uint64_t> capture_id(void* stream) const;

  // Plans are in the cache; what the GPU needs of them is made here.
  Status prepare(std::span<const Operation> operations, const PlanCache& plans);
  // All is prepared; `call_count` counts collectives. The first stream carries the work, the
  // others wait for it.
  Status run(std::span<const Operation> operations, const PlanCache& plans, uint64_t* call_count,
             std::span<void* const> streams);
  // `work` on the first stream, after all of them and before what they get next.
  Status queue_together(std::span<void* const> streams,
                        const std::function<Status(cuda::StreamHandle stream)>& work);
  // For small records in a call of this communicator's own: memory that host and GPU reach, good
  // until the next one, and the stream of that call.
  Result<std::byte*> reserve_round(size_t bytes);
  void* round_stream() const { return round_stream_.get(); }
  Status complete_round() const;
  // The cache has dropped its plans.
  void forget();
  // The same, and nothing runs, nor does a graph hold a call.
  void release_memory();

 private:
  Status check_buffer(const char* name, const void* pointer) const;
  Status run_collective(const Operation& operation, const BoundPlan& bound, uint64_t number,
                        cuda::StreamHandle stream);
  std::vector<GpuEngine::PointToPoint> point_to_point(std::span<const Operation> operations,
                                                      const PlanCache& plans) const;
  Status copy_to_self(std::span<const Operation> operations, cuda::StreamHandle stream);

  std::unique_ptr<GpuEngine> engine_;
  const int rank_;
  const int rank_count_;
  const CodingOf coding_of_;
  std::map<const BoundPlan*, std::shared_ptr<const GpuEngine::GpuPlan>> plans_;
  cuda::PinnedMemory round_memory_;
  cuda::Stream round_stream_;
};

}  // namespace strait
