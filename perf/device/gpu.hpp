// Gpu: one GPU as the device checks use it: its context current in the thread that opened it, a
// stream, memory, copies that have happened when they return, and times by events. Belongs to one
// thread; every wait has a deadline.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/cuda/context.hpp"
#include "base/cuda/device.hpp"
#include "base/cuda/event.hpp"
#include "base/cuda/launch.hpp"
#include "base/cuda/memory.hpp"
#include "base/cuda/stream.hpp"
#include "base/device_image.hpp"

namespace strait::device_check {

class Gpu {
 public:
  static Result<std::unique_ptr<Gpu>> open(int ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const cuda::DeviceFacts& facts() const { return facts_; }
  cuda::StreamHandle stream() const { return stream_.get(); }

  Result<cuda::DeviceMemory> memory(size_t bytes) const;
  Status upload(cuda::DevicePointer target, std::span<const std::byte> bytes) const;
  Status download(std::span<std::byte> bytes, cuda::DevicePointer source) const;
  Status fill(cuda::DevicePointer target, unsigned char value, size_t bytes) const;
  Status wait() const;

  // Of the images of one library, the source's; a stand-in driver needs none.
  Result<cuda::Module> load(DeviceImages images, const std::string& source) const;

  // The median time of so many runs, in nanoseconds, after two that do not count.
  Result<double> median_ns(int runs, const std::function<Status()>& launch) const;

 private:
  Gpu(const cuda::Driver& driver, cuda::DeviceFacts facts, cuda::PrimaryContext context)
      : driver_(driver), facts_(std::move(facts)), context_(std::move(context)) {}

  const cuda::Driver& driver_;
  const cuda::DeviceFacts facts_;
  cuda::PrimaryContext context_;
  cuda::Stream stream_;
};

}  // namespace strait::device_check
