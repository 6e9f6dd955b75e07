#include "exec/cuda/engine.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/cuda/capture.hpp"
#include "base/cuda/launch.hpp"
#include "base/cuda/pointer.hpp"
#include "base/log.hpp"
#include "plan/tag.hpp"

namespace strait {
namespace {

constexpr int64_t kDayMs = 86'400'000;

}  // namespace

Result<std::unique_ptr<GpuEngine>> GpuEngine::create(Terms terms) {
  free_dismissed();
  if (terms.timeout_ms == 0) terms.timeout_ms = kDayMs;
  STRAIT_ASSIGN(const cuda::Driver* driver, cuda::driver());
  STRAIT_ASSIGN(cuda::PrimaryContext context, cuda::PrimaryContext::retain(*driver, terms.device));
  std::unique_ptr<GpuEngine> engine(new GpuEngine(std::move(terms), *driver, std::move(context)));
  STRAIT_TRY(engine->prepare());
  return engine;
}

Status GpuEngine::prepare() {
  const cuda::ContextHandle context = context_.get();
  STRAIT_ASSIGN(kernels_, CollectiveKernels::load(driver_, context));
  STRAIT_ASSIGN(own_stream_, cuda::Stream::create(driver_, context));
  STRAIT_ASSIGN(report_memory_, cuda::PinnedMemory::allocate(driver_, context, sizeof(DeviceReport),
                                                             "reports of kernels"));
  report_ = new (report_memory_.data()) DeviceReport{};
  STRAIT_ASSIGN(arrivals_, cuda::DeviceMemory::allocate(driver_, context, sizeof(uint32_t),
                                                        "the count of a kernel's blocks"));
  const uint32_t none = 0;
  STRAIT_TRY(write(arrivals_.pointer(), &none, sizeof none));
  STRAIT_ASSIGN(order_, CallOrder::create(driver_, terms_.device));
  if (terms_.keeps_launch_order) {
    STRAIT_ASSIGN(device_order_, CallOrder::of_device(driver_, terms_.device));
  }
  if (terms_.peers)
    peers_ = std::make_unique<PeerRings>(std::move(*terms_.peers), driver_, context, terms_.device,
                                         PeerRings::Shape{terms_.slots, terms_.slot_bytes});
  return Status();
}

void GpuEngine::serve(const Coding& coding, TrafficCounters& traffic,
                      std::function<void(const Status& why)> on_failure) {
  proxy_ = std::make_unique<Proxy>();
  on_failure_ = std::move(on_failure);
  traffic_ = &traffic;
  coding_ = coding;
  thread_ = std::thread([this] { watch(); });
}

// A NULL or per-thread stream is of whatever context is current, which is the engine's at launch.
Status GpuEngine::check_stream(cuda::StreamHandle stream) const {
  if (stream == nullptr || stream == cuda::legacy_stream() || stream == cuda::per_thread_stream())
    return Status();
  cuda::ContextHandle context = nullptr;
  const int code = driver_.cuStreamGetCtx.code(stream, &context);
  if (code == cuda::kInvalidHandle || code == cuda::kContextIsDestroyed)
    return error(Code::kInvalidArgument,
                 "the stream does not exist any more: give the call one that does until its work "
                 "is done");
  if (code != cuda::kSuccess) return cuda::failure("cuStreamGetCtx", code);
  if (context == context_.get()) return Status();
  STRAIT_ASSIGN(const int device, cuda::device_of(driver_, context));
  if (device == terms_.device)
    return error(Code::kInvalidArgument,
                 "the stream is of another context of GPU {} than the primary one: make it where "
                 "that is current (cudaSetDevice, or cuDevicePrimaryCtxRetain)",
                 device);
  return error(Code::kInvalidArgument,
               "the stream is of GPU {}, and the communicator's rank is on GPU {}: give it a "
               "stream of its own GPU",
               device, terms_.device);
}

Result<uint64_t> GpuEngine::capture_id(cuda::StreamHandle stream) const {
  STRAIT_ASSIGN(const cuda::ContextScope scope, cuda::ContextScope::enter(driver_, context_.get()));
  STRAIT_ASSIGN(const cuda::Capture capture, cuda::capture_of(driver_, stream));
  return capture.active ? capture.id : 0;
}

Status GpuEngine::launch(std::shared_ptr<const GpuPlan> plan, const GpuCall& call,
                         cuda::StreamHandle stream) {
  STRAIT_TRY(reserve(scratch_, plan->scratch_bytes, "partial sums"));
  DeviceCall arguments{};
  arguments.input = static_cast<const unsigned char*>(call.input);
  arguments.output = static_cast<unsigned char*>(call.output);
  arguments.scratch = static_cast<unsigned char*>(scratch_.data());
  arguments.arithmetic = lower(call.arithmetic, call.request);
  arguments.coding = lower(call.coding);
  arguments.scalar_place = call.scalar_place;
  arguments.tag = tag_of(call.request, call.number);
  return start(std::move(plan), arguments, stream);
}

Status GpuEngine::copy(void* target, const void* source, size_t bytes, cuda::StreamHandle stream) {
  STRAIT_ASSIGN(const cuda::ContextScope scope, cuda::ContextScope::enter(driver_, context_.get()));
  return cuda::copy(driver_, cuda::device_pointer(target), cuda::device_pointer(source), bytes,
                    stream);
}

Status GpuEngine::start(std::shared_ptr<const GpuPlan> plan, DeviceCall call,
                        cuda::StreamHandle stream) {
  STRAIT_TRY(reserve(staging_, plan->staging_bytes, "values on their way to the codec"));
  STRAIT_ASSIGN(const cuda::ContextScope scope, cuda::ContextScope::enter(driver_, context_.get()));
  STRAIT_ASSIGN(const cuda::Capture capture, cuda::capture_of(driver_, stream));
  call.lanes = plan->lanes;
  call.steps = plan->steps;
  call.report = report();
  call.arrivals = static_cast<uint32_t*>(arrivals_.data());
  call.staging = static_cast<unsigned char*>(staging_.data());
  if (capture.active)
    STRAIT_TRY(this->capture(
        capture, [this, of = plan.get()] { begun(*of); }, plan, stream));
  // Calls of one communicator run one after another, whatever streams they are given; where the
  // program wants the host's order, those of all that share the GPU do.
  const auto turn = order_->lock();
  const auto device_turn = device_order_ ? device_order_->lock() : std::unique_lock<std::mutex>();
  STRAIT_TRY(order_->follow(capture, stream));
  if (device_order_) STRAIT_TRY(device_order_->follow(capture, stream));
  const cuda::LaunchShape shape{.blocks = plan->blocks,
                                .threads = plan->coded ? kCodedThreads : terms_.threads,
                                .shared_bytes = plan->coded ? kCodedSharedBytes : kLaneSharedBytes};
  STRAIT_TRY(cuda::launch_with(*plan->kernel, shape, stream, call));
  if (!capture.active) begun(*plan);
  if (device_order_) STRAIT_TRY(device_order_->become_last(capture, stream));
  return order_->become_last(capture, stream);
}

// What the graph needs of us stays until it is gone.
Status GpuEngine::capture(const cuda::Capture& into, std::function<void()> begin,
                          std::shared_ptr<const void> kept, cuda::StreamHandle stream) {
  auto launched = std::make_unique<Launched>();
  launched->begin = std::move(begin);
  launched->kept = std::move(kept);
  Launched* const call = launched.get();
  {
    std::lock_guard lock(mutex_);
    std::erase_if(captured_, [](const auto& other) { return other->gone.load(); });
    captured_.push_back(std::move(launched));
  }
  const Status held = cuda::call_after_graph(driver_, into.graph, &GpuEngine::graph_is_gone, call);
  if (!held.ok()) {
    graph_is_gone(call);
    return held;
  }
  return cuda::call_on_host(driver_, stream, &GpuEngine::begin_replay, call);
}

void GpuEngine::begun(const GpuPlan& plan) {
  {
    std::lock_guard lock(mutex_);
    if (leaving_) return;  // what the call would need of the communicator may be gone
    traffic_->plain_bytes.fetch_add(plan.plain_bytes, std::memory_order_relaxed);
    Proxy::expect(plan.loads);
    launched_.fetch_add(1);
  }
  wake_.notify_all();
}

void GpuEngine::begin_replay(void* launched) {
  static_cast<const Launched*>(launched)->begin();
}

// The driver may run this on a thread that may not call it: what the call kept goes later.
void GpuEngine::graph_is_gone(void* launched) {
  static_cast<Launched*>(launched)->gone.store(true);
}

Status GpuEngine::join(cuda::StreamHandle stream, const std::vector<cuda::StreamHandle>& others) {
  STRAIT_ASSIGN(const cuda::ContextScope scope, cuda::ContextScope::enter(driver_, context_.get()));
  for (const cuda::StreamHandle other : others) {
    STRAIT_ASSIGN(const cuda::Event event, cuda::Event::create(driver_, context_.get()));
    STRAIT_TRY(event.record(other));
    STRAIT_TRY(event.hold_back(stream));
  }
  return Status();
}

Status GpuEngine::part(cuda::StreamHandle stream, const std::vector<cuda::StreamHandle>& others) {
  if (others.empty()) return Status();
  STRAIT_ASSIGN(const cuda::ContextScope scope, cuda::ContextScope::enter(driver_, context_.get()));
  STRAIT_ASSIGN(const cuda::Event event, cuda::Event::create(driver_, context_.get()));
  STRAIT_TRY(event.record(stream));
  for (const cuda::StreamHandle other : others) STRAIT_TRY(event.hold_back(other));
  return Status();
}

}  // namespace strait
