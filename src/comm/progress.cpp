#include "comm/progress.hpp"

#include <new>
#include <system_error>
#include <utility>

namespace strait {

Progress::~Progress() {
  // The last owner may be the work itself.
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

Status Progress::check_idle() const {
  std::lock_guard lock(mutex_);
  if (running_)
    return error(Code::kInvalidArgument,
                 "Attempt to use communicator before the previous operation returned ncclSuccess: "
                 "ask ncclCommGetAsyncError until it is no longer ncclInProgress");
  return failure_;
}

Status Progress::state() const {
  std::lock_guard lock(mutex_);
  return running_ ? Status(Code::kInProgress, "work goes on in the background") : failure_;
}

Status Progress::start(std::function<Status()> work) {
  std::unique_lock lock(mutex_);
  STRAIT_CHECK(!running_, "one piece of work at a time");
  std::thread finished = std::exchange(thread_, {});
  if (finished.joinable()) finished.join();  // it is done, up to its return
  try {
    running_ = true;
    thread_ = std::thread([self = shared_from_this(), work = std::move(work)] { self->run(work); });
  } catch (const std::system_error& failure) {
    running_ = false;
    return error(Code::kSystemError,
                 "no thread for work in the background: {}; raise the limit of processes "
                 "(ulimit -u)",
                 failure.what());
  }
  return {Code::kInProgress, "work goes on in the background"};
}

void Progress::run(const std::function<Status()>& work) {
  Status status;
  try {
    status = work();
  } catch (const std::bad_alloc&) {
    status = error(Code::kSystemError, "out of memory in the background; run fewer ranks here");
  }
  std::lock_guard lock(mutex_);
  running_ = false;
  if (failure_.ok()) failure_ = status;
  done_.notify_all();
}

void Progress::fail(const Status& why) {
  std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = why;
}

void Progress::forget_failure() {
  std::lock_guard lock(mutex_);
  failure_ = Status();
}

void Progress::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return !running_; });
}

}  // namespace strait
