// Trials: the receiving ends of links on which peers try whether they reach this rank. Each takes
// one message and goes when its sender has gone, or after a while. All on the reactor's thread, but
// for the destructor.
#pragma once

#include <list>
#include <mutex>

#include "base/clock.hpp"
#include "base/reactor.hpp"
#include "transport/link.hpp"

namespace strait::net {

inline constexpr size_t kTrialBytes = 4096;  // as much as verbs' largest packet

class Trials {
 public:
  explicit Trials(std::shared_ptr<Reactor> reactor) : reactor_(std::move(reactor)) {}
  ~Trials();

  void add(std::unique_ptr<RecvLink> end);

 private:
  struct Trial {
    std::unique_ptr<RecvLink> end;
    int64_t until_ns = 0;
  };
  void sweep();

  const std::shared_ptr<Reactor> reactor_;
  std::mutex mutex_;
  std::list<Trial> trials_;
  uint64_t timer_ = 0;  // 0: none
};

}  // namespace strait::net
