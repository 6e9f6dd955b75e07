// GpuEngine: its end. Kernels and graphs of the program may still use what an engine has; so an
// engine that is not needed any more waits for them on a list.

#include <algorithm>

#include "base/log.hpp"
#include "exec/cuda/engine.hpp"

namespace strait {
namespace {

constexpr int64_t kLookNs = 100'000;
constexpr int64_t kLeaveMs = 2'000;  // what a kernel may take to notice that it was stopped

struct Lingering {
  std::mutex mutex;
  std::vector<std::unique_ptr<GpuEngine>> engines;
};

Lingering& lingering() {
  // Never destroyed: the driver may be gone when static objects are.
  static auto* all = new Lingering;
  return *all;
}

}  // namespace

GpuEngine::~GpuEngine() {
  leave();
}

void GpuEngine::leave() {
  if (!thread_.joinable()) return;
  stop();
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

// Kernels that were stopped leave soon, unless work of the program before them never ends.
void GpuEngine::dismiss(std::unique_ptr<GpuEngine> engine) {
  free_dismissed();
  if (!engine->stopped_.load()) {
    const Status status = engine->drain(Deadline::after_ms(engine->terms_.timeout_ms));
    if (!status.ok()) log_warn("{}", status.message());
  }
  engine->leave();
  const Deadline deadline = Deadline::after_ms(kLeaveMs);
  while (engine->graphs_alive() == 0 && !engine->has_left() && !deadline.passed())
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLookNs));
  if (engine->has_left()) return;
  std::lock_guard lock(lingering().mutex);
  lingering().engines.push_back(std::move(engine));
}

void GpuEngine::free_dismissed() {
  std::vector<std::unique_ptr<GpuEngine>> gone;
  std::lock_guard lock(lingering().mutex);
  auto& all = lingering().engines;
  for (auto& engine : all)
    if (engine->has_left()) gone.push_back(std::move(engine));
  std::erase(all, nullptr);
}

bool GpuEngine::has_left() {
  if (graphs_alive() > 0) return false;
  // A context that is broken or gone runs nothing.
  const auto scope = cuda::ContextScope::enter(driver_, context_.get());
  if (!scope.ok()) return true;
  const auto past = order_->is_past();
  if (!past.ok()) return true;
  std::lock_guard lock(mutex_);
  return *past &&
         std::ranges::all_of(companions_, [](const auto& other) { return other->has_left(); });
}

void GpuEngine::attach(std::shared_ptr<Companion> companion) {
  std::lock_guard lock(mutex_);
  companions_.push_back(std::move(companion));
}

void GpuEngine::release_memory() {
  {
    std::lock_guard lock(watched_mutex_);
    watched_.clear();
  }
  kept_.clear();
  batches_.clear();
  bound_.clear();
  proxy_->clear();
  ports_.clear();
  if (peers_) peers_->close();
  scratch_ = {};
  staging_ = {};
  retired_.clear();
  own_bytes_.store(0);
}

size_t GpuEngine::graphs_alive() {
  std::lock_guard lock(mutex_);
  std::erase_if(captured_, [](const auto& call) { return call->gone.load(); });
  return captured_.size();
}

Status GpuEngine::wait_for_graphs(Deadline deadline) {
  for (size_t calls = graphs_alive(); calls > 0; calls = graphs_alive()) {
    if (deadline.passed())
      return error(Code::kTimeout,
                   "graphs that hold {} calls of this communicator on GPU {} still exist: destroy "
                   "them before it; what their replay would use stays until they are gone",
                   calls, terms_.device);
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLookNs));
  }
  return Status();
}

}  // namespace strait
