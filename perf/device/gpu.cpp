#include "perf/device/gpu.hpp"

#include <algorithm>
#include <vector>

namespace strait::device_check {
namespace {

constexpr int64_t kLimitMs = 60'000;
// What a build without nvcc has in place of an image: text that no real driver takes.
constexpr char kNoImage[] = "strait-kernels";

}  // namespace

Result<std::unique_ptr<Gpu>> Gpu::open(int ordinal) {
  STRAIT_ASSIGN(const cuda::Driver* driver, cuda::driver());
  STRAIT_ASSIGN(cuda::DeviceFacts facts, cuda::device_facts(*driver, ordinal));
  STRAIT_ASSIGN(cuda::PrimaryContext context, cuda::PrimaryContext::retain(*driver, ordinal));
  STRAIT_TRY(driver->cuCtxPushCurrent(context.get()));
  std::unique_ptr<Gpu> gpu(new Gpu(*driver, std::move(facts), std::move(context)));
  STRAIT_ASSIGN(gpu->stream_, cuda::Stream::create(*driver, gpu->context_.get()));
  return gpu;
}

Gpu::~Gpu() {
  stream_ = cuda::Stream();
  cuda::ContextHandle popped = nullptr;
  if (const Status status = driver_.cuCtxPopCurrent(&popped); !status.ok())
    fmt::print(stderr, "{}\n", status.message());
}

Result<cuda::DeviceMemory> Gpu::memory(size_t bytes) const {
  return cuda::DeviceMemory::allocate(driver_, context_.get(), std::max<size_t>(bytes, 16),
                                      "a device check");
}

Status Gpu::upload(cuda::DevicePointer target, std::span<const std::byte> bytes) const {
  if (bytes.empty()) return Status();
  STRAIT_TRY(
      cuda::copy(driver_, target, cuda::device_pointer(bytes.data()), bytes.size(), stream_.get()));
  return wait();
}

Status Gpu::download(std::span<std::byte> bytes, cuda::DevicePointer source) const {
  if (bytes.empty()) return Status();
  STRAIT_TRY(
      cuda::copy(driver_, cuda::device_pointer(bytes.data()), source, bytes.size(), stream_.get()));
  return wait();
}

Status Gpu::fill(cuda::DevicePointer target, unsigned char value, size_t bytes) const {
  STRAIT_TRY(cuda::fill(driver_, target, value, bytes, stream_.get()));
  return wait();
}

Status Gpu::wait() const {
  return cuda::wait_idle(driver_, stream_.get(), Deadline::after_ms(kLimitMs));
}

Result<cuda::Module> Gpu::load(DeviceImages images, const std::string& source) const {
  const void* data = kNoImage;
  for (const DeviceImage& image : images)
    if (image.source == source) data = image.data;
  Result<cuda::Module> module = cuda::Module::load(driver_, context_.get(), data);
  if (!module.ok() && images.empty())
    return error(Code::kCudaError,
                 "these programs were built without kernels for GPUs; build them where nvcc is");
  return module;
}

Result<double> Gpu::median_ns(int runs, const std::function<Status()>& launch) const {
  STRAIT_ASSIGN(const cuda::Event begin,
                cuda::Event::create(driver_, context_.get(), cuda::Event::Use::kTime));
  STRAIT_ASSIGN(const cuda::Event end,
                cuda::Event::create(driver_, context_.get(), cuda::Event::Use::kTime));
  std::vector<double> times;
  for (int run = -2; run < runs; ++run) {
    STRAIT_TRY(begin.record(stream_.get()));
    STRAIT_TRY(launch());
    STRAIT_TRY(end.record(stream_.get()));
    STRAIT_TRY(wait());
    STRAIT_ASSIGN(const double ns, begin.ns_to(end));
    if (run >= 0) times.push_back(ns);
  }
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[static_cast<size_t>(runs / 2)];
}

}  // namespace strait::device_check
