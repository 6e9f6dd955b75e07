// ProgramCalls: the calls of the CUDA driver that programs make and the library does not: the
// current context, and graphs. Found once in the driver that the library opens; any thread.
#pragma once

#include "base/cuda/driver.hpp"

namespace strait::perf {

using GraphExec = struct GraphExecHandle*;

struct ProgramCalls {
  template <class... Parameters>
  using Call = cuda::Entry<int(Parameters...)>;

  Call<cuda::ContextHandle> set_current{"cuCtxSetCurrent", 4000};
  Call<cuda::StreamHandle, cuda::CaptureMode> begin_capture{"cuStreamBeginCapture", 10010};
  Call<cuda::StreamHandle, cuda::GraphHandle*> end_capture{"cuStreamEndCapture", 10000};
  Call<GraphExec*, cuda::GraphHandle, unsigned long long> instantiate{"cuGraphInstantiateWithFlags",
                                                                      11040};
  Call<GraphExec, cuda::StreamHandle> launch{"cuGraphLaunch", 10000};
  Call<GraphExec> destroy_exec{"cuGraphExecDestroy", 10000};
  Call<cuda::GraphHandle> destroy_graph{"cuGraphDestroy", 10000};

  static Result<const ProgramCalls*> find();
};

}  // namespace strait::perf
