// CollectiveKernels: the kernels of collectives.cu in one context, loaded from this library's own
// images. Movable, one owner. Loading costs milliseconds (seconds where the driver has to compile
// PTX): once per communicator, never on the hot path.
#pragma once

#include <array>

#include "base/cuda/module.hpp"
#include "base/types.hpp"

namespace strait {

class CollectiveKernels {
 public:
  static Result<CollectiveKernels> load(const cuda::Driver& driver, cuda::ContextHandle context);

  const cuda::Kernel& of(DataType type) const { return kernels_[static_cast<size_t>(type)]; }

 private:
  cuda::Module module_;
  std::array<cuda::Kernel, kDataTypeCount> kernels_;
};

}  // namespace strait
