// Team: all ranks of the measurement, as threads of several processes. exchange() and barrier() are
// called by every thread of every process in the same order; they are for between measurements. A
// failure of the launcher goes to `fail`, which does not return.
#pragma once

#include <barrier>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "perf/launch/launcher.hpp"

namespace strait::perf {

class Team {
 public:
  using Fail = std::function<void(const Status&)>;

  Team(Launcher& launcher, int threads, Fail fail)
      : launcher_(launcher),
        fail_(std::move(fail)),
        mine_(static_cast<size_t>(threads)),
        local_(threads) {}

  int threads() const { return static_cast<int>(mine_.size()); }
  Launcher& launcher() { return launcher_; }

  // Everyone's values, by process, then thread; all threads give the same number of values.
  template <class T>
  std::vector<T> exchange(int thread, std::span<const T> values) {
    const std::vector<std::byte> bytes = exchange_bytes(thread, std::as_bytes(values));
    std::vector<T> all(bytes.size() / sizeof(T));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }

  void barrier(int thread);                           // all threads of all processes
  void local_barrier() { local_.arrive_and_wait(); }  // the threads of this process

 private:
  std::vector<std::byte> exchange_bytes(int thread, std::span<const std::byte> values);

  Launcher& launcher_;
  Fail fail_;
  std::vector<std::vector<std::byte>>
      mine_;  // by thread; written before, read after a local barrier
  std::vector<std::byte> all_;
  std::barrier<> local_;
};

}  // namespace strait::perf
