// Module: the kernels of one image (fatbin, cubin or PTX in memory) in one context, and Kernel, one
// of them. Loading costs milliseconds, seconds when PTX must be compiled: on first use, never on
// the hot path. A Module is movable with one owner; a Kernel is a plain value, good while its
// module is; any thread.
#pragma once

#include "base/cuda/owned.hpp"

namespace strait::cuda {

struct KernelFacts {
  int registers = 0;
  int local_bytes = 0;   // per thread; more than a stack frame's worth means spills
  int shared_bytes = 0;  // static
  int threads_max = 0;   // of one block
};

class Kernel {
 public:
  Kernel() = default;
  Kernel(const Driver& driver, FunctionHandle function, std::string name)
      : driver_(&driver), function_(function), name_(std::move(name)) {}

  FunctionHandle get() const { return function_; }
  const std::string& name() const { return name_; }
  const Driver& driver() const { return *driver_; }

  Result<KernelFacts> facts() const;
  // Lets launches ask for up to that much dynamic shared memory.
  Status allow_shared_bytes(int bytes) const;
  // How many blocks of that shape one multiprocessor holds at once. The kernel's context is
  // current.
  Result<int> blocks_per_multiprocessor(int threads, size_t shared_bytes) const;

 private:
  const Driver* driver_ = nullptr;
  FunctionHandle function_ = nullptr;
  std::string name_;
};

class Module {
 public:
  Module() = default;
  // The image may go once load() has returned.
  static Result<Module> load(const Driver& driver, ContextHandle context, const void* image);

  Result<Kernel> kernel(const std::string& name) const;

 private:
  Owned<ModuleHandle> module_;
};

}  // namespace strait::cuda
