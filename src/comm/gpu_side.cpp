#include "comm/gpu_side.hpp"

#include "base/cuda/pointer.hpp"
#include "comm/to_self.hpp"

namespace strait {
namespace {

cuda::StreamHandle handle_of(void* stream) {
  return static_cast<cuda::StreamHandle>(stream);
}

Status check_host_buffer(const cuda::Driver& driver, const char* name, const void* pointer,
                         int rank) {
  if (pointer == nullptr) return Status();
  const auto facts = cuda::pointer_facts(driver, pointer);
  if (!facts.ok() || facts->kind != cuda::MemoryKind::kDevice) return Status();
  return error(Code::kInvalidArgument,
               "{} {} is memory of GPU {}, and rank {} of the communicator is on a host: make the "
               "GPU's context current before the communicator is made, and do not set "
               "STRAIT_DEVICE=host",
               name, pointer, facts->device, rank);
}

}  // namespace

bool is_per_thread_stream(void* stream) {
  return handle_of(stream) == cuda::per_thread_stream();
}

Status check_host(const Operation& operation, int rank) {
  const cuda::Driver* driver = cuda::opened_driver();
  if (driver == nullptr) return Status();
  STRAIT_TRY(check_host_buffer(*driver, "sendbuff", operation.input, rank));
  return check_host_buffer(*driver, "recvbuff", operation.output, rank);
}

// Kernels may still read plans that nobody asks for any more.
GpuSide::~GpuSide() {
  forget();
  GpuEngine::dismiss(std::move(engine_));
}

void GpuSide::forget() {
  for (auto& [bound, plan] : plans_) engine_->keep(std::move(plan));
  plans_.clear();
}

Status GpuSide::check_buffer(const char* name, const void* pointer) const {
  if (pointer == nullptr) return Status();
  STRAIT_ASSIGN(const cuda::PointerFacts facts, cuda::pointer_facts(engine_->driver(), pointer));
  switch (facts.kind) {
    case cuda::MemoryKind::kHost:
      return error(Code::kInvalidArgument,
                   "{} {} is host memory that the GPU cannot reach, or was freed, and rank {} of "
                   "the communicator is on GPU {}: give it device memory, or register it",
                   name, pointer, rank_, engine_->device());
    case cuda::MemoryKind::kDevice:
      if (facts.device == engine_->device()) return Status();
      return error(Code::kInvalidArgument,
                   "{} {} is memory of GPU {}, and rank {} of the communicator is on GPU {}: give "
                   "it memory of its own GPU",
                   name, pointer, facts.device, rank_, engine_->device());
    case cuda::MemoryKind::kPinned:
    case cuda::MemoryKind::kManaged:
      break;
  }
  return Status();
}

Status GpuSide::check(const Operation& operation, void* stream) const {
  STRAIT_TRY(engine_->check_stream(handle_of(stream)));
  STRAIT_TRY(check_buffer("sendbuff", operation.input));
  STRAIT_TRY(check_buffer("recvbuff", operation.output));
  return check_buffer("the scalar", operation.scalar_place);
}

Result<uint64_t> GpuSide::capture_id(void* stream) const {
  return engine_->capture_id(handle_of(stream));
}

Status GpuSide::prepare(std::span<const Operation> operations, const PlanCache& plans) {
  for (const Operation& operation : operations) {
    const BoundPlan* bound = plans.find(operation.request);
    if (bound == nullptr || is_point_to_point(operation.request.collective)) continue;
    if (plans_.contains(bound)) continue;
    STRAIT_ASSIGN(plans_[bound], engine_->bind(*bound, operation.request.type));
  }
  return engine_->prepare(point_to_point(operations, plans));
}

Status GpuSide::run(std::span<const Operation> operations, const PlanCache& plans,
                    uint64_t* call_count, std::span<void* const> streams) {
  const cuda::StreamHandle stream = streams.empty() ? nullptr : handle_of(streams.front());
  std::vector<cuda::StreamHandle> others;
  for (size_t i = 1; i < streams.size(); ++i) others.push_back(handle_of(streams[i]));
  STRAIT_TRY(engine_->join(stream, others));
  STRAIT_TRY(copy_to_self(operations, stream));
  for (const Operation& operation : operations) {
    if (is_point_to_point(operation.request.collective)) continue;
    const BoundPlan* bound = plans.find(operation.request);
    if (bound != nullptr) STRAIT_TRY(run_collective(operation, *bound, *call_count, stream));
    // Numbers count collectives, so that all ranks agree on them whatever was skipped.
    ++*call_count;
  }
  STRAIT_TRY(engine_->launch(point_to_point(operations, plans), stream));
  return engine_->part(stream, others);
}

Status GpuSide::run_collective(const Operation& operation, const BoundPlan& bound, uint64_t number,
                               cuda::StreamHandle stream) {
  return engine_->launch(plans_.at(&bound),
                         {.request = operation.request,
                          .number = number,
                          .arithmetic = operation.arithmetic,
                          .input = operation.input,
                          .output = operation.output,
                          .scalar_place = operation.scalar_place},
                         stream);
}

std::vector<GpuEngine::PointToPoint> GpuSide::point_to_point(std::span<const Operation> operations,
                                                             const PlanCache& plans) const {
  std::vector<GpuEngine::PointToPoint> calls;
  for (const Operation& operation : operations) {
    const Request& request = operation.request;
    if (!is_point_to_point(request.collective) || request.count == 0 || request.root == rank_)
      continue;
    const bool sends = request.collective == Collective::kSend;
    const int ahead = sends ? request.root - rank_ : rank_ - request.root;
    calls.push_back({.bound = plans.find(request),
                     .request = request,
                     .address = sends ? operation.input : operation.output,
                     .distance = ahead > 0 ? ahead : ahead + rank_count_});
  }
  return calls;
}

Status GpuSide::copy_to_self(std::span<const Operation> operations, cuda::StreamHandle stream) {
  STRAIT_ASSIGN(const std::vector<SelfCopy> copies, copies_to_self(operations, rank_));
  for (const SelfCopy& copy : copies)
    STRAIT_TRY(engine_->copy(copy.target, copy.source, copy.bytes, stream));
  return Status();
}

}  // namespace strait
