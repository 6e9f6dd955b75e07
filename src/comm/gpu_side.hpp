// GpuSide: how a communicator on a GPU carries out a batch: the plans as the engine knows them, and
// the order on the program's streams. Returns when everything is queued. For the thread whose turn
// it is on the communicator.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "comm/operation.hpp"
#include "comm/plan_cache.hpp"
#include "exec/cuda/engine.hpp"

namespace strait {

class GpuSide {
 public:
  GpuSide(std::unique_ptr<GpuEngine> engine, int rank) : engine_(std::move(engine)), rank_(rank) {}

  GpuEngine& engine() { return *engine_; }

  // The buffers are memory that this GPU reaches; the streams are of its context.
  Status check(std::span<const Operation> operations, std::span<void* const> streams) const;
  // Plans are in the cache; `call_count` counts collectives. The first stream carries the work, the
  // others wait for it.
  Status run(std::span<const Operation> operations, const PlanCache& plans, uint64_t* call_count,
             std::span<void* const> streams);
  // The cache has dropped its plans.
  void forget() { plans_.clear(); }

 private:
  Status check_buffer(const char* name, const void* pointer) const;
  Status run_collective(const Operation& operation, const BoundPlan& bound, uint64_t number,
                        cuda::StreamHandle stream);
  Status run_point_to_point(std::span<const Operation> operations, const PlanCache& plans,
                            cuda::StreamHandle stream);
  Status copy_to_self(std::span<const Operation> operations, cuda::StreamHandle stream);

  std::unique_ptr<GpuEngine> engine_;
  const int rank_;
  std::map<const BoundPlan*, std::shared_ptr<const GpuEngine::GpuPlan>> plans_;
};

}  // namespace strait
