// CollectiveKernels: the kernels of collectives.cu, coded.cu and messages.cu in one context, loaded
// from this library's own images. Movable, one owner. Loading costs milliseconds (seconds where the
// driver has to compile PTX): once per communicator, never on the hot path.
#pragma once

#include <array>
#include <vector>

#include "base/cuda/module.hpp"
#include "base/types.hpp"
#include "exec/cuda/device_call.hpp"

namespace strait {

// The kernels of one source of this folder.
Result<cuda::Module> load_kernels(const cuda::Driver& driver, cuda::ContextHandle context,
                                  const std::string& source);

class CollectiveKernels {
 public:
  static Result<CollectiveKernels> load(const cuda::Driver& driver, cuda::ContextHandle context);

  const cuda::Kernel& plain(DataType type) const { return plain_[static_cast<size_t>(type)]; }
  // For plans with coded edges; float types only.
  const cuda::Kernel& coded(DataType type) const { return coded_[static_cast<size_t>(type)]; }
  // For sends and receives of which some are coded, of any types.
  const cuda::Kernel& coded_messages() const { return coded_messages_; }

 private:
  std::vector<cuda::Module> modules_;
  std::array<cuda::Kernel, kDataTypeCount> plain_;
  std::array<cuda::Kernel, kDataTypeCount> coded_;
  cuda::Kernel coded_messages_;
};

}  // namespace strait
