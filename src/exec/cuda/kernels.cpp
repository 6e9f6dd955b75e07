#include "exec/cuda/kernels.hpp"

#include <algorithm>

#include "base/device_image.hpp"

namespace strait {

DeviceImages device_images_exec_kernels();  // defined by the build, from the kernels of this folder

namespace {

// What a build without nvcc has in place of an image: text that no real driver takes.
constexpr char kNoImage[] = "strait-kernels";

}  // namespace

Result<cuda::Module> load_kernels(const cuda::Driver& driver, cuda::ContextHandle context,
                                  const std::string& source) {
  const DeviceImages images = device_images_exec_kernels();
  const auto found = std::ranges::find(images, source, &DeviceImage::source);
  const void* image = found == images.end() ? kNoImage : found->data;
  auto module = cuda::Module::load(driver, context, image);
  if (!module.ok() && images.empty())
    return error(Code::kCudaError,
                 "this library was built without kernels for GPUs ({}): build it where nvcc is, "
                 "or give it host memory",
                 module.status().message());
  return module;
}

Result<CollectiveKernels> CollectiveKernels::load(const cuda::Driver& driver,
                                                  cuda::ContextHandle context) {
  CollectiveKernels kernels;
  for (const char* source : {"collectives", "coded", "messages"}) {
    STRAIT_ASSIGN(cuda::Module module, load_kernels(driver, context, source));
    kernels.modules_.push_back(std::move(module));
  }
  for (int i = 0; i < kDataTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    STRAIT_ASSIGN(kernels.plain_[static_cast<size_t>(i)],
                  kernels.modules_[0].kernel(fmt::format("strait_{}", name_of(type))));
    if (!is_float(type)) continue;
    cuda::Kernel& coded = kernels.coded_[static_cast<size_t>(i)];
    STRAIT_ASSIGN(coded, kernels.modules_[1].kernel(fmt::format("strait_coded_{}", name_of(type))));
    STRAIT_TRY(coded.allow_shared_bytes(kCodedSharedBytes));
  }
  STRAIT_ASSIGN(kernels.coded_messages_, kernels.modules_[2].kernel("strait_coded_messages"));
  STRAIT_TRY(kernels.coded_messages_.allow_shared_bytes(kCodedSharedBytes));
  return kernels;
}

}  // namespace strait
