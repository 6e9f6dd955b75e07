#include "comm/gpu_side.hpp"

#include <algorithm>

#include "comm/to_self.hpp"

namespace strait {
namespace {

constexpr size_t kRoundBytes = 64 << 10;
constexpr int64_t kRoundEndMs = 10'000;

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

void GpuSide::release_memory() {
  plans_.clear();
  engine_->release_memory();
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

Status GpuSide::check_one_sided(const void* source, void* stream) const {
  STRAIT_TRY(engine_->check_stream(handle_of(stream)));
  return check_buffer("localbuff", source);
}

Result<cuda::PointerFacts> GpuSide::check_window(const void* base, uint64_t bytes) const {
  STRAIT_TRY(check_buffer("buff", base));
  STRAIT_ASSIGN(const cuda::PointerFacts facts, cuda::pointer_facts(engine_->driver(), base));
  const uint64_t begin = cuda::device_pointer(base) - facts.base;
  if (facts.kind == cuda::MemoryKind::kDevice && bytes > facts.bytes - begin)
    return error(Code::kInvalidArgument,
                 "buff {} and size {} leave their allocation, which has {} bytes from there on: "
                 "register memory that exists",
                 base, bytes, facts.bytes - begin);
  return facts;
}

Result<std::byte*> GpuSide::reserve_round(size_t bytes) {
  const cuda::ContextHandle context = engine_->context();
  if (!round_stream_) {
    STRAIT_ASSIGN(round_stream_, cuda::Stream::create(engine_->driver(), context));
  }
  if (bytes > round_memory_.bytes()) {
    STRAIT_ASSIGN(round_memory_, cuda::PinnedMemory::allocate(engine_->driver(), context,
                                                              std::max(bytes, kRoundBytes),
                                                              "records of all ranks"));
  }
  return round_memory_.data();
}

// A call that goes wrong is ended by the engine, so this wait ends too.
Status GpuSide::complete_round() const {
  STRAIT_ASSIGN(const auto scope, cuda::ContextScope::enter(engine_->driver(), engine_->context()));
  return cuda::wait_idle(engine_->driver(), round_stream_.get(),
                         Deadline::after_ms(engine_->timeout_ms() + kRoundEndMs));
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

Status GpuSide::queue_together(std::span<void* const> streams,
                               const std::function<Status(cuda::StreamHandle stream)>& work) {
  const cuda::StreamHandle stream = streams.empty() ? nullptr : handle_of(streams.front());
  std::vector<cuda::StreamHandle> others;
  for (size_t i = 1; i < streams.size(); ++i) others.push_back(handle_of(streams[i]));
  STRAIT_TRY(engine_->join(stream, others));
  STRAIT_TRY(work(stream));
  return engine_->part(stream, others);
}

Status GpuSide::run(std::span<const Operation> operations, const PlanCache& plans,
                    uint64_t* call_count, std::span<void* const> streams) {
  return queue_together(streams, [&](cuda::StreamHandle stream) -> Status {
    STRAIT_TRY(copy_to_self(operations, stream));
    for (const Operation& operation : operations) {
      if (is_point_to_point(operation.request.collective)) continue;
      const BoundPlan* bound = plans.find(operation.request);
      if (bound != nullptr) STRAIT_TRY(run_collective(operation, *bound, *call_count, stream));
      // Numbers count collectives, so that all ranks agree on them whatever was skipped.
      ++*call_count;
    }
    return engine_->launch(point_to_point(operations, plans), stream);
  });
}

Status GpuSide::run_collective(const Operation& operation, const BoundPlan& bound, uint64_t number,
                               cuda::StreamHandle stream) {
  return engine_->launch(plans_.at(&bound),
                         {.request = operation.request,
                          .number = number,
                          .arithmetic = operation.arithmetic,
                          .coding = coding_of_(operation.wires),
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
