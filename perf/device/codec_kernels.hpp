// CodecKernels: the codec's kernels on a GPU, over arrays of values and chunks that lie in device
// memory already. Belongs to the thread of its Gpu, which outlives it. Launching returns at once.
#pragma once

#include <map>
#include <string>

#include "codec/device.hpp"
#include "perf/device/gpu.hpp"

namespace strait::device_check {

class CodecKernels {
 public:
  // Blocks are at most `blocks_max`: there is scratch for as many.
  static Result<CodecKernels> load(const Gpu& gpu, unsigned blocks_max);

  struct Jobs {
    cuda::DevicePointer first = 0;  // of an array of EncodeJob or DecodeJob, all of one kernel_type
    uint32_t count = 0;
    DataType type = DataType::kFloat32;
  };
  // The dense kernel, or the one for all other modes.
  Status encode(const Jobs& jobs, bool dense, unsigned blocks);
  Status decode(const Jobs& jobs, unsigned blocks);
  Status decode_add(const Jobs& jobs, unsigned blocks);

 private:
  explicit CodecKernels(const Gpu& gpu) : gpu_(&gpu) {}
  Result<cuda::Kernel> kernel(const cuda::Module& module, const std::string& prefix, DataType type);

  const Gpu* gpu_;
  cuda::Module encoders_, decoders_, adders_;
  cuda::DeviceMemory scratch_;
  std::map<std::string, cuda::Kernel> kernels_;
};

}  // namespace strait::device_check
