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

Result<std::unique_ptr<GpuEngine>> GpuEngine::create(Terms terms) {
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
  STRAIT_ASSIGN(last_, cuda::Event::create(driver_, context));
  if (terms_.peers)
    peers_ = std::make_unique<PeerRings>(std::move(*terms_.peers),
                                         PeerRings::Place{.driver = &driver_,
                                                          .context = context,
                                                          .device = terms_.device,
                                                          .slots = terms_.slots,
                                                          .slot_bytes = terms_.slot_bytes});
  return Status();
}

void GpuEngine::serve(const Coding& coding, TrafficCounters& traffic,
                      std::function<void(const Status& why)> on_failure) {
  proxy_ = std::make_unique<Proxy>(coding, traffic);
  on_failure_ = std::move(on_failure);
  traffic_ = &traffic;
  coding_ = coding;
  thread_ = std::thread([this] { watch(); });
}

// A NULL or per-thread stream is of whatever context is current, which is the engine's at launch.
Status GpuEngine::check_stream(cuda::StreamHandle stream) const {
  if (stream == nullptr || stream == cuda::legacy_stream() || stream == cuda::per_thread_stream())
    return Status();
  STRAIT_ASSIGN(const cuda::ContextHandle context, cuda::context_of(driver_, stream));
  if (context == context_.get()) return Status();
  STRAIT_ASSIGN(const int device, cuda::device_of(driver_, context));
  if (device == terms_.device) return Status();
  return error(Code::kInvalidArgument,
               "the stream is of GPU {}, and the communicator's rank is on GPU {}: give it a "
               "stream of its own GPU",
               device, terms_.device);
}

GpuEngine::~GpuEngine() {
  if (thread_.joinable()) {
    if (!stopped_.load()) {
      const Status status = drain(Deadline::after_ms(terms_.timeout_ms));
      if (!status.ok()) log_warn("{}", status.message());
    }
    stop();
    {
      std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
}

Status GpuEngine::launch(std::shared_ptr<const GpuPlan> plan, const GpuCall& call,
                         cuda::StreamHandle stream) {
  STRAIT_TRY(reserve(scratch_, plan->scratch_bytes, "partial sums"));
  STRAIT_TRY(reserve(staging_, plan->staging_bytes, "values on their way to the codec"));
  DeviceCall arguments{};
  arguments.input = static_cast<const unsigned char*>(call.input);
  arguments.output = static_cast<unsigned char*>(call.output);
  arguments.scratch = static_cast<unsigned char*>(scratch_.data());
  arguments.arithmetic = lower(call.arithmetic, call.request);
  arguments.staging = static_cast<unsigned char*>(staging_.data());
  // Where the mode is left to the library it is fast: no rate of a kernel is known yet.
  arguments.coding_mode = static_cast<uint32_t>(coding_.options.mode);
  arguments.checksum = coding_.options.checksum ? 1 : 0;
  arguments.scalar_place = call.scalar_place;
  arguments.tag = tag_of(call.request, call.number);
  return start(std::move(plan), call.request.type, arguments, stream);
}

Status GpuEngine::copy(void* target, const void* source, size_t bytes, cuda::StreamHandle stream) {
  STRAIT_ASSIGN(const cuda::ContextScope scope, cuda::ContextScope::enter(driver_, context_.get()));
  return cuda::copy(driver_, cuda::device_pointer(target), cuda::device_pointer(source), bytes,
                    stream);
}

Status GpuEngine::start(std::shared_ptr<const GpuPlan> plan, DataType type, DeviceCall call,
                        cuda::StreamHandle stream) {
  STRAIT_ASSIGN(const cuda::ContextScope scope, cuda::ContextScope::enter(driver_, context_.get()));
  STRAIT_ASSIGN(const cuda::Capture capture, cuda::capture_of(driver_, stream));
  call.lanes = plan->lanes;
  call.steps = plan->steps;
  call.report = reinterpret_cast<DeviceReport*>(report_memory_.pointer());
  call.arrivals = static_cast<uint32_t*>(arrivals_.data());
  if (capture.active) {
    captured_.push_back(std::make_unique<Launched>(Launched{this, plan}));
    STRAIT_TRY(
        cuda::call_on_host(driver_, stream, &GpuEngine::begin_replay, captured_.back().get()));
  } else {
    STRAIT_TRY(follow_last(stream));
  }
  const cuda::LaunchShape shape{.blocks = plan->blocks,
                                .threads = plan->coded ? kCodedThreads : terms_.threads,
                                .shared_bytes = plan->coded ? kCodedSharedBytes : kLaneSharedBytes};
  const cuda::Kernel& kernel = plan->coded ? kernels_.coded(type) : kernels_.plain(type);
  STRAIT_TRY(cuda::launch_with(kernel, shape, stream, call));
  if (capture.active) return Status();
  begun(*plan);
  STRAIT_TRY(last_.record(stream));
  last_stream_ = stream;
  has_last_ = true;
  return Status();
}

// Calls of one communicator run one after another, whatever streams they are given.
Status GpuEngine::follow_last(cuda::StreamHandle stream) {
  if (!has_last_ || stream == last_stream_) return Status();
  return last_.hold_back(stream);
}

void GpuEngine::begun(const GpuPlan& plan) {
  traffic_->plain_bytes.fetch_add(plan.plain_bytes, std::memory_order_relaxed);
  Proxy::expect(plan.loads);
  {
    std::lock_guard lock(mutex_);
    launched_.fetch_add(1);
  }
  wake_.notify_all();
}

void GpuEngine::begin_replay(void* launched) {
  const auto* call = static_cast<const Launched*>(launched);
  call->engine->begun(*call->plan);
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
