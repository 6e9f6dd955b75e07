#include "base/cuda/library.hpp"

#include <dlfcn.h>

namespace strait::cuda {

Result<Library> Library::open(const std::string& name, const char* what) {
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return Library(name, handle);
  const char* const why = dlerror();
  return error(Code::kCudaError, "no {} here ({}); to use NVIDIA's GPUs install their driver", what,
               why == nullptr ? name : why);
}

void* Library::symbol(const char* name) const {
  return dlsym(handle_, name);
}

}  // namespace strait::cuda
