// Proxy: turns the links that kernels cannot turn themselves. What a kernel posted it passes on,
// encoded where the edge is coded; what arrived it hands to the kernel, decoded. It is told how
// many messages each call will move, so it looks at no link in vain, and a peer that has left is a
// failure only if something is still to come from it. turn() by the engine's thread alone; the rest
// by any.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <vector>

#include "exec/coding.hpp"
#include "exec/cuda/staged_ring.hpp"

namespace strait {

class Proxy {
 public:
  // Coded: the other end is in another domain. By kernels: chunks of float types pass as they are,
  // since collectives code them on the GPU; sends and receives move bytes and leave it to the
  // proxy.
  struct EdgeKind {
    bool coded = false;
    bool by_kernels = false;
  };
  // One link in one direction.
  struct Duty {
    StagedRing ring;
    SendPort* send = nullptr;
    RecvLink* recv = nullptr;
    EdgeKind edge;
    std::atomic<uint64_t> expected{0};  // messages, of all calls so far; partner: turn()
    uint64_t moved = 0;
  };
  // What one call will move.
  struct Load {
    Duty* duty;
    uint64_t messages;
  };

  Proxy(Coding coding, TrafficCounters& traffic) : coding_(coding), traffic_(&traffic) {}

  // Stays where it is until the proxy goes.
  Duty* add(StagedRing ring, SendPort* send, RecvLink* recv, EdgeKind edge);
  static void expect(const std::vector<Load>& loads);

  // Moves what can be moved, once around; returns the messages moved. The first failure of a link
  // that a call needs is the status.
  Result<uint64_t> turn();
  // Everything expected has been moved.
  bool idle();

 private:
  Result<bool> pass_on(Duty& duty);
  Result<bool> hand_over(Duty& duty);

  const Coding coding_;
  TrafficCounters* const traffic_;
  std::mutex mutex_;  // guards the list, not its elements
  std::list<Duty> duties_;
};

}  // namespace strait
