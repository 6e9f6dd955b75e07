// A graph of what a program captures on a stream of a rank on a GPU of the stand-in, to be
// replayed. For the rank's thread.
#pragma once

#include <functional>
#include <utility>

#include "api/cuda/gpu_rank.hpp"

namespace strait::test {

// What is called while it is captured, ready to run. The ranks are threads: in a global capture one
// would forbid the others to look at their streams.
class Graph {
 public:
  Graph(const GpuRank& gpu, const std::function<void()>& calls,
        cuda::CaptureMode mode = cuda::kCaptureThreadLocal) {
    EXPECT_DONE(standin::program().cuStreamBeginCapture(gpu.handle(), mode));
    calls();
    cuda::GraphHandle graph = nullptr;
    EXPECT_DONE(standin::program().cuStreamEndCapture(gpu.handle(), &graph));
    if (graph == nullptr) return;
    EXPECT_DONE(standin::program().cuGraphInstantiateWithFlags(&exec_, graph, 0));
    EXPECT_DONE(standin::program().cuGraphDestroy(graph));
  }
  ~Graph() {
    if (exec_ != nullptr) EXPECT_DONE(standin::program().cuGraphExecDestroy(exec_));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void replay(cuda::StreamHandle stream) const {
    EXPECT_DONE(standin::program().cuGraphLaunch(exec_, stream));
  }

 private:
  standin::GraphExecHandle exec_ = nullptr;
};

}  // namespace strait::test
