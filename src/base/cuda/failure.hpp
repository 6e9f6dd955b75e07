// What a failed call of the driver becomes: a Status of code kCudaError with the call, the driver's
// name of the error and what to do about it. Any thread; built only on failure.
#pragma once

#include "base/cuda/abi.hpp"
#include "base/status.hpp"

namespace strait::cuda {

template <class Signature>
class Entry;

// "cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY; <remedy>"
Status failure(const char* call, int code);

// Whether the context of the call is broken for good: every later call in it fails the same way.
bool is_sticky(int code);

// Logs what a destructor could not return. Silent where the driver, or the context with all that is
// in it, has gone already.
void report_release(const char* call, int code);

// The driver's own names of errors; before that, numbers.
void name_errors_by(const Entry<int(ResultCode code, const char** name)>& name_of);

}  // namespace strait::cuda
