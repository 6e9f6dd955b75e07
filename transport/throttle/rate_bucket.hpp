// RateBucket: one uplink of a given rate that many links share, threads and processes alike: a word
// of shared memory that says until when the uplink is taken. reserve() is lock-free, from any
// thread or process that has the bucket; one atomic exchange. Whoever was idle may catch up a fifth
// of a millisecond, which makes up for late timers.
//
//   departure = when the last byte leaves = max(free, now - burst) + bytes / rate
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/shared_memory.hpp"
#include "base/status.hpp"

namespace strait {

class RateBucket {
 public:
  static Result<std::shared_ptr<RateBucket>> create(int64_t bytes_per_second);
  // The bucket behind the fd() of another process's.
  static Result<std::shared_ptr<RateBucket>> map(UniqueFd fd);

  // Takes the uplink for a message; returns the moment (monotonic clock) at which it has left.
  int64_t reserve(size_t bytes);
  int64_t bytes_per_second() const { return page_->bytes_per_second; }
  int fd() const { return memory_.fd(); }

 private:
  struct Page {
    uint64_t magic;
    int64_t bytes_per_second;
    alignas(
        64) std::atomic<int64_t> free_ns;  // partner: reserve() of the other threads and processes
  };

  explicit RateBucket(SharedMemory memory)
      : memory_(std::move(memory)), page_(reinterpret_cast<Page*>(memory_.data())) {}

  SharedMemory memory_;
  Page* page_;
};

}  // namespace strait
