// How every collective call begins: the arguments are checked, become an Operation and go to the
// calling thread's group. Any thread; a call costs a few look-ups.
#pragma once

#include <cstddef>

#include "nccl.h"
#include "plan/request.hpp"

namespace strait::api {

struct Arguments {
  Collective collective;
  const void* input;
  void* output;
  size_t count;
  ncclDataType_t type;
  int op;
  int root;  // or peer
  ncclComm_t comm;
  cudaStream_t stream;
  const ncclCollConfig_t* config = nullptr;
};

// `function` is the call's name, for its errors.
ncclResult_t call(const char* function, const Arguments& arguments);

}  // namespace strait::api
