// EntryPoints: finds the calls of an opened driver, each in the form of the version that brought
// it. A value; any thread; a hash look-up per call.
#pragma once

#include "base/cuda/entry.hpp"
#include "base/cuda/library.hpp"

namespace strait::cuda {

class EntryPoints {
 public:
  explicit EntryPoints(const Library& library)
      : find_(reinterpret_cast<Find>(library.symbol("cuGetProcAddress_v2"))) {}

  // False: the driver has no such call, and the entry says so when it is called.
  template <class Call>
  bool fill(Call& entry) const {
    void* function = nullptr;
    int found = 0;
    if (find_ == nullptr ||
        find_(entry.name(), &function, entry.version(), 0, &found) != kSuccess ||
        function == nullptr)
      return false;
    entry.set(function);
    return true;
  }

 private:
  using Find = int (*)(const char* name, void** function, int version, uint64_t flags, int* found);

  Find find_;
};

}  // namespace strait::cuda
