#include <thread>
#include <vector>

#include "base/cuda/context.hpp"
#include "base/cuda/device.hpp"
#include "base/cuda/memory.hpp"
#include "base/cuda/stream.hpp"
#include "perf/engine/program_calls.hpp"
#include "perf/engine/rank_device.hpp"

namespace strait::perf {
namespace {

constexpr int64_t kCopyMs = 60'000;
constexpr int kLooksPerQuestion = 1000;  // at the stream, for one at the communicator

class GpuDevice : public RankDevice {
 public:
  GpuDevice(const cuda::Driver& driver, const ProgramCalls& calls, cuda::DeviceFacts facts,
            cuda::PrimaryContext context)
      : driver_(driver), calls_(calls), facts_(std::move(facts)), context_(std::move(context)) {}
  ~GpuDevice() override {
    // Nothing can be done about a failure here, and the measurement is over.
    (void)drop_graph();
  }

  int number() const override { return facts_.ordinal; }
  std::string bus() const override { return facts_.pci_bus_id; }
  std::string name() const override { return facts_.name; }

  Status enter() override { return calls_.set_current(context_.get()); }
  Status make_stream() override {
    STRAIT_ASSIGN(stream_, cuda::Stream::create(driver_, context_.get()));
    return {};
  }
  cudaStream_t stream() const override { return reinterpret_cast<cudaStream_t>(stream_.get()); }

  // Work ends by itself when the communicator fails; where the library was told to wait for ever,
  // so do we, as long as it is well.
  Status synchronize(ncclComm_t comm) override {
    STRAIT_TRY(enter());  // whose default stream is meant
    for (int looks = 1;; ++looks) {
      STRAIT_ASSIGN(const bool idle, cuda::is_idle(driver_, stream_.get()));
      if (idle || looks % kLooksPerQuestion == 0) STRAIT_TRY(failure_of(comm));
      if (idle) return {};
      std::this_thread::yield();
    }
  }

  Status write(std::byte* target, size_t bytes,
               const std::function<void(std::byte*)>& edit) override {
    stage_.resize(bytes);
    edit(stage_.data());
    return copy(target, stage_.data(), bytes);
  }
  Status read(const std::byte* source, size_t bytes,
              const std::function<void(const std::byte*)>& look) override {
    stage_.resize(bytes);
    STRAIT_TRY(copy(stage_.data(), source, bytes));
    look(stage_.data());
    return {};
  }

  Status begin_capture() override {
    STRAIT_TRY(drop_graph());
    // Other threads go on with their ranks.
    return calls_.begin_capture(stream_.get(), cuda::kCaptureThreadLocal);
  }
  Status end_capture() override {
    cuda::GraphHandle graph = nullptr;
    STRAIT_TRY(calls_.end_capture(stream_.get(), &graph));
    STRAIT_TRY(enter());
    const Status made = calls_.instantiate(&graph_, graph, 0);
    STRAIT_TRY(calls_.destroy_graph(graph));
    return made;
  }
  Status launch_graph() override { return calls_.launch(graph_, stream_.get()); }
  Status drop_graph() override {
    if (graph_ == nullptr) return {};
    return calls_.destroy_exec(std::exchange(graph_, nullptr));
  }

 private:
  Status copy(void* target, const void* source, size_t bytes) {
    if (bytes == 0) return {};
    STRAIT_TRY(enter());
    STRAIT_TRY(cuda::copy(driver_, cuda::device_pointer(target), cuda::device_pointer(source),
                          bytes, stream_.get()));
    return cuda::wait_idle(driver_, stream_.get(), Deadline::after_ms(kCopyMs));
  }

  const cuda::Driver& driver_;
  const ProgramCalls& calls_;
  const cuda::DeviceFacts facts_;
  cuda::PrimaryContext context_;
  cuda::Stream stream_;
  GraphExec graph_ = nullptr;
  std::vector<std::byte> stage_;
};

}  // namespace

Result<std::unique_ptr<RankDevice>> open_gpu(int ordinal) {
  STRAIT_ASSIGN(const cuda::Driver* driver, cuda::driver());
  STRAIT_ASSIGN(const ProgramCalls* calls, ProgramCalls::find());
  STRAIT_ASSIGN(cuda::DeviceFacts facts, cuda::device_facts(*driver, ordinal));
  STRAIT_ASSIGN(cuda::PrimaryContext context, cuda::PrimaryContext::retain(*driver, ordinal));
  return std::unique_ptr<RankDevice>(
      std::make_unique<GpuDevice>(*driver, *calls, std::move(facts), std::move(context)));
}

}  // namespace strait::perf
