#include "perf/device/codec_kernels.hpp"

namespace strait {

DeviceImages device_images_strait_codec_images();  // defined by the build

}  // namespace strait

namespace strait::device_check {

Result<CodecKernels> CodecKernels::load(const Gpu& gpu, unsigned blocks_max) {
  const DeviceImages images = device_images_strait_codec_images();
  CodecKernels kernels(gpu);
  STRAIT_ASSIGN(kernels.encoders_, gpu.load(images, "encode"));
  STRAIT_ASSIGN(kernels.decoders_, gpu.load(images, "decode"));
  STRAIT_ASSIGN(kernels.adders_, gpu.load(images, "decode_add"));
  size_t scratch = 0;
  for (int type = 0; type < kDataTypeCount; ++type)
    scratch = std::max(scratch, codec::encode_scratch_bytes(static_cast<DataType>(type)));
  STRAIT_ASSIGN(kernels.scratch_, gpu.memory(scratch * blocks_max));
  return kernels;
}

Result<cuda::Kernel> CodecKernels::kernel(const cuda::Module& module, const std::string& prefix,
                                          DataType type) {
  const std::string name = prefix + std::string(name_of(codec::kernel_type(type)));
  if (const auto found = kernels_.find(name); found != kernels_.end()) return found->second;
  STRAIT_ASSIGN(const cuda::Kernel kernel, module.kernel(name));
  kernels_[name] = kernel;
  return kernel;
}

Status CodecKernels::encode(const Jobs& jobs, bool dense, unsigned blocks) {
  STRAIT_ASSIGN(
      const cuda::Kernel found,
      kernel(encoders_, dense ? "strait_encode_dense_" : "strait_encode_fast_", jobs.type));
  const unsigned shared_bytes = dense ? codec::kEncodeSharedBytes : 0;
  STRAIT_TRY(found.allow_shared_bytes(static_cast<int>(shared_bytes)));
  return cuda::launch_with(
      found, {.blocks = blocks, .threads = codec::kCodecThreads, .shared_bytes = shared_bytes},
      gpu_->stream(), jobs.first, jobs.count, scratch_.pointer());
}

Status CodecKernels::decode(const Jobs& jobs, unsigned blocks) {
  STRAIT_ASSIGN(const cuda::Kernel found, kernel(decoders_, "strait_decode_", jobs.type));
  return cuda::launch_with(found, {.blocks = blocks, .threads = codec::kCodecThreads},
                           gpu_->stream(), jobs.first, jobs.count);
}

Status CodecKernels::decode_add(const Jobs& jobs, unsigned blocks) {
  STRAIT_ASSIGN(const cuda::Kernel found, kernel(adders_, "strait_decode_add_", jobs.type));
  return cuda::launch_with(found, {.blocks = blocks, .threads = codec::kCodecThreads},
                           gpu_->stream(), jobs.first, jobs.count);
}

}  // namespace strait::device_check
