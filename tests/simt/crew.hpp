// One launch: the OS threads that carry its blocks, which block is next, and how it ended. Made by
// run() for the time of a launch; the carriers' calls lock. It starts with as many carriers as
// there are processors. Another joins whenever a block only waits for memory, since what it waits
// for may be a block that has not started: blocks that wait for nobody so keep the caches to
// themselves.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/status.hpp"
#include "simt/simt.hpp"

namespace strait::simt {

class Crew {
 public:
  Crew(const Launch& launch, const std::function<void()>& body, const Options& options);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Returns when all carriers have ended. Once.
  Status run();

  const Launch& launch() const { return launch_; }
  const std::function<void()>& body() const { return body_; }
  const Options& options() const { return options_; }

  // For carriers.
  std::optional<uint64_t> next_block(bool first);
  bool another_carrier();  // true when one was started
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  // The first failure counts, and stops all blocks.
  void fail(Status status);
  // What a block was doing when time ran out.
  void report(uint64_t block, std::string text);

 private:
  struct Carrier {
    std::thread thread;
    bool ended = false;
  };

  bool start_carrier();  // under the lock
  void carry(size_t index);
  void work();
  void stop_at_deadline(std::unique_lock<std::mutex>& lock);
  bool all_ended() const { return running_ == 0; }
  std::string hang_text() const;

  const Launch& launch_;
  const std::function<void()>& body_;
  const Options options_;
  const uint64_t blocks_;

  // Partner: set by whoever fails or by run() at the deadline, polled by the carriers. It carries
  // no data; what goes with it is under the lock.
  std::atomic<bool> stopped_{false};

  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<Carrier> carriers_;
  size_t running_ = 0;
  size_t claiming_ = 0;  // carriers on their way to their first block
  uint64_t next_block_ = 0;
  bool out_of_time_ = false;
  Status status_;
  std::vector<std::pair<uint64_t, std::string>> reports_;
};

// Which block of the grid has this number.
uint3 block_index(const Dim3& grid, uint64_t number);

}  // namespace strait::simt
