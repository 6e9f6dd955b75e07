#include "exec/cuda/kernels.hpp"

#include "base/device_image.hpp"

namespace strait {

DeviceImages device_images_exec_kernels();  // defined by the build, from collectives.cu

namespace {

// What a build without nvcc has in place of an image: text that no real driver takes.
constexpr char kNoImage[] = "strait-kernels";

}  // namespace

Result<CollectiveKernels> CollectiveKernels::load(const cuda::Driver& driver,
                                                  cuda::ContextHandle context) {
  const DeviceImages images = device_images_exec_kernels();
  const void* image = images.empty() ? kNoImage : images.front().data;
  CollectiveKernels kernels;
  auto module = cuda::Module::load(driver, context, image);
  if (!module.ok() && images.empty())
    return error(Code::kCudaError,
                 "this library was built without kernels for GPUs: build it where nvcc is, or give "
                 "it host memory");
  STRAIT_TRY(module.status());
  kernels.module_ = std::move(*module);
  for (int type = 0; type < kDataTypeCount; ++type) {
    const std::string name = fmt::format("strait_{}", name_of(static_cast<DataType>(type)));
    STRAIT_ASSIGN(kernels.kernels_[static_cast<size_t>(type)], kernels.module_.kernel(name));
  }
  return kernels;
}

}  // namespace strait
