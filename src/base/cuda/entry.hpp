// Entry: one entry point of a library that was opened at run time, called like a function and
// answering with a Status that names it. Filled once by Driver::open, then only read: any thread.
// A call costs what the driver's function costs and one compare.
#pragma once

#include "base/cuda/failure.hpp"

namespace strait::cuda {

template <class Signature>
class Entry;

template <class... Parameters>
class Entry<int(Parameters...)> {
 public:
  using Function = int (*)(Parameters...);

  Entry(const char* name, int version) : name_(name), version_(version) {}

  Status operator()(Parameters... parameters) const {
    const int result = code(parameters...);
    return result == kSuccess ? Status() : failure(name_, result);
  }
  // For calls where some codes are answers and no failures: kNotReady, kPeerAccessAlreadyEnabled.
  int code(Parameters... parameters) const {
    return function_ == nullptr ? kCallRequiresNewerDriver : function_(parameters...);
  }

  const char* name() const { return name_; }
  int version() const { return version_; }
  Function function() const { return function_; }  // null: the driver has no such call
  void set(void* function) { function_ = reinterpret_cast<Function>(function); }

 private:
  const char* name_;
  int version_;
  Function function_ = nullptr;
};

}  // namespace strait::cuda
