// SignalBoard: the signals that have come to this rank and that nobody has waited for yet. add()
// comes from the agent's thread, wait() from any; one lock.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "comm/rma_call.hpp"

namespace strait {

class SignalBoard {
 public:
  explicit SignalBoard(const SignalShape& shape) : shape_(shape), counts_(shape.count()) {}

  // False: there is no such signal.
  bool add(const SignalName& name);
  // Until each has come as often as it says; then uses all of them up. `stopped` is why not to wait
  // for a peer any longer, or ok; it is asked at every wake().
  Status wait(const std::vector<SignalWait>& waits, Deadline deadline,
              const std::function<Status(int peer)>& stopped);
  void wake();

 private:
  const SignalShape shape_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<uint64_t> counts_;
};

}  // namespace strait
