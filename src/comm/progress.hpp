// Progress: the work that goes on in the background of a non-blocking communicator, one piece at a
// time, each on a thread of its own that ends with it. Blocking communicators have one too, which
// never runs anything. Made before its communicator, since making one is such work. Any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "base/status.hpp"

namespace strait {

class Progress : public std::enable_shared_from_this<Progress> {
 public:
  explicit Progress(bool blocking) : blocking_(blocking) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool blocking() const { return blocking_; }
  // Ok when the next call may come: NCCL's sentence while work goes on, or what work failed with.
  Status check_idle() const;
  // kInProgress while work goes on; then what failed first, if anything did.
  Status state() const;
  // Begins the work and returns kInProgress, or says why it cannot.
  Status start(std::function<Status()> work);
  // As if work had ended with this failure.
  void fail(const Status& why);
  // Failures so far do not count any more.
  void forget_failure();
  // Asks the work to end; it finds out by the token.
  void stop() { stop_.request_stop(); }
  std::stop_token stop_token() const { return stop_.get_token(); }
  // Until no work goes on.
  void wait();

 private:
  void run(const std::function<Status()>& work);

  const bool blocking_;
  std::stop_source stop_;
  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::thread thread_;
  bool running_ = false;
  Status failure_;
};

}  // namespace strait
