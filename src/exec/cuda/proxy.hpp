// Proxy: turns the links that kernels cannot turn themselves (link_turner.hpp). It is told how many
// messages each call will move, so it looks at no link in vain, and a peer that has left is a
// failure only if something is still to come from it. turn() by the engine's thread alone; the rest
// by any.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <vector>

#include "exec/cuda/link_turner.hpp"

namespace strait {

class Proxy {
 public:
  // One link in one direction.
  struct Duty {
    std::unique_ptr<LinkTurner> turner;
    std::atomic<uint64_t> expected{0};  // messages, of all calls so far; partner: turn()
    uint64_t completed = 0;
  };
  // What one call will move.
  struct Load {
    Duty* duty;
    uint64_t messages;
  };

  // Stays where it is until the proxy goes.
  Duty* add(std::unique_ptr<LinkTurner> turner);
  // Ends all of them: nothing is expected any more.
  void clear();
  static void expect(const std::vector<Load>& loads);

  // Turns every link once that something is expected of; returns how many moved. The first failure
  // of a link that a call needs is the status.
  Result<uint64_t> turn();
  // Everything expected has been moved.
  bool idle();

 private:
  std::mutex mutex_;  // guards the list, not its elements
  std::list<Duty> duties_;
};

}  // namespace strait
