// Watcher: a thread that sleeps until one of its connections ends, and then, after a grace in which
// the process may find out by itself, ends the process with one sentence. Without it a death
// elsewhere could leave this process waiting. Owned by the rendezvous; stop() before an orderly
// end. Costs nothing while all is well.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"

namespace strait::perf {

class Watcher {
 public:
  struct Connection {
    int fd;
    int rank;  // of the process at the other end
  };

  Watcher(std::vector<Connection> connections, int64_t grace_ms);
  ~Watcher() { stop(); }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  void stop();

 private:
  void watch();
  bool stopped_within(int64_t ms) const;

  std::vector<Connection> connections_;
  int64_t grace_ms_;
  UniqueFd stop_;
  std::thread thread_;
};

}  // namespace strait::perf
