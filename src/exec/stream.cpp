#include "exec/stream.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace strait {
namespace {

// A task that several streams come to.
struct Join {
  HostStream::Task task;
  std::vector<std::function<void()>> resume;  // one for each stream
  std::atomic<size_t> missing{0};  // partner: every stream's thread; the last runs the task
};

}  // namespace

class HostStream::Queue : public std::enable_shared_from_this<HostStream::Queue> {
 public:
  Status start() {
    std::lock_guard lock(mutex_);
    if (thread_.joinable()) return {};
    try {
      thread_ = std::thread([self = shared_from_this()] { self->run(); });
    } catch (const std::system_error& failure) {
      return error(Code::kSystemError,
                   "no thread for a host stream: {}; raise the limit of processes (ulimit -u)",
                   failure.what());
    }
    return {};
  }

  void push(Task task, std::shared_ptr<Join> join) {
    std::lock_guard lock(mutex_);
    entries_.push_back({std::move(task), std::move(join)});
    ++enqueued_;
    work_.notify_one();
  }

  Status synchronize(Deadline deadline) {
    std::unique_lock lock(mutex_);
    if (thread_.get_id() == std::this_thread::get_id())
      return error(Code::kInvalidUsage,
                   "a task waits for the host stream that runs it; wait from another thread");
    const uint64_t last = enqueued_;
    while (finished_ < last) {
      if (deadline.passed())
        return error(Code::kTimeout,
                     "host stream: {} tasks are still queued or running at the deadline; look for "
                     "a rank that has not made the matching call",
                     last - finished_);
      done_.wait_for(lock, std::chrono::nanoseconds(deadline.left_ns()));
    }
    return {};
  }

  bool idle() const {
    std::lock_guard lock(mutex_);
    return finished_ == enqueued_;
  }

  // The join that parked this queue is over.
  void resume() {
    std::lock_guard lock(mutex_);
    parked_ = false;
    finish_one();
    work_.notify_one();
  }

  // Lets the thread run what is queued and end, and waits for that, except on the thread itself.
  void close() {
    std::thread thread;
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
      thread = std::move(thread_);
      work_.notify_one();
    }
    if (!thread.joinable()) return;
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();
    else
      thread.join();
  }

 private:
  struct Entry {
    Task task;                   // without a join
    std::shared_ptr<Join> join;  // or null
  };

  void finish_one() {
    ++finished_;
    done_.notify_all();
  }

  // The thread. It has no deadline while it has nothing to do.
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [this] { return !parked_ && (closing_ || !entries_.empty()); });
      if (entries_.empty()) return;
      Entry entry = std::move(entries_.front());
      entries_.pop_front();
      parked_ = entry.join != nullptr;
      lock.unlock();
      if (entry.join != nullptr)
        arrive(*entry.join);
      else
        entry.task();
      const bool simple = entry.join == nullptr;
      entry = {};  // what a task holds is let go before the task counts as done
      lock.lock();
      if (simple) finish_one();
    }
  }

  static void arrive(Join& join) {
    if (join.missing.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    join.task();
    join.task = nullptr;
    for (const auto& resume : join.resume) resume();
  }

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::deque<Entry> entries_;
  std::thread thread_;
  uint64_t enqueued_ = 0;
  uint64_t finished_ = 0;
  bool parked_ = false;   // at a join whose task has not returned
  bool closing_ = false;  // nobody can enqueue any more
};

HostStream::HostStream() : queue_(std::make_shared<Queue>()) {}

HostStream::~HostStream() {
  queue_->close();
}

Status HostStream::enqueue(Task task) {
  STRAIT_TRY(queue_->start());
  queue_->push(std::move(task), nullptr);
  return {};
}

Status HostStream::synchronize(Deadline deadline) {
  return queue_->synchronize(deadline);
}

bool HostStream::idle() const {
  return queue_->idle();
}

Status enqueue_joined(std::span<const std::shared_ptr<HostStream>> streams, HostStream::Task task) {
  std::vector<std::shared_ptr<HostStream::Queue>> queues;
  for (const auto& stream : streams)
    if (std::ranges::find(queues, stream->queue_) == queues.end()) queues.push_back(stream->queue_);
  STRAIT_CHECK(!queues.empty(), "a join of no streams");
  for (const auto& queue : queues) STRAIT_TRY(queue->start());
  if (queues.size() == 1) {
    queues.front()->push(std::move(task), nullptr);
    return {};
  }
  auto join = std::make_shared<Join>();
  join->task = std::move(task);
  join->missing = queues.size();
  for (const auto& queue : queues) join->resume.push_back([queue] { queue->resume(); });
  static std::mutex order;  // one join is on all its streams before the next is on any
  std::lock_guard lock(order);
  for (const auto& queue : queues) queue->push({}, join);
  return {};
}

namespace {

// Never destroyed: streams that nobody destroyed keep their threads until the process ends.
struct Registry {
  std::mutex mutex;
  std::map<uintptr_t, std::shared_ptr<HostStream>> streams;
  uintptr_t next = kFirst;

  // Outside of what a process can map, so no address is mistaken for a handle.
  static constexpr uintptr_t kFirst = uintptr_t{0x5757} << (8 * sizeof(uintptr_t) - 16);
};

Registry& registry() {
  static auto* const only = new Registry;
  return *only;
}

Status unknown_handle(const void* stream_handle) {
  return error(Code::kInvalidArgument,
               "{} is no host stream (or one that was destroyed); pass a handle of "
               "straitStreamCreate, or NULL",
               stream_handle);
}

}  // namespace

bool completes_before_return(const void* stream_handle) {
  return reinterpret_cast<uintptr_t>(stream_handle) <= 2;
}

void* create_stream() {
  auto stream = std::make_shared<HostStream>();
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  const uintptr_t number = all.next++;
  all.streams.emplace(number, std::move(stream));
  return reinterpret_cast<void*>(number);
}

Result<std::shared_ptr<HostStream>> find_stream(const void* stream_handle) {
  if (completes_before_return(stream_handle)) return std::shared_ptr<HostStream>();
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  const auto found = all.streams.find(reinterpret_cast<uintptr_t>(stream_handle));
  if (found == all.streams.end()) return unknown_handle(stream_handle);
  return found->second;
}

Status destroy_stream(const void* stream_handle, Deadline deadline) {
  STRAIT_ASSIGN(const auto stream, find_stream(stream_handle));
  if (stream == nullptr) return unknown_handle(stream_handle);
  STRAIT_TRY(stream->synchronize(deadline));
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  if (all.streams.erase(reinterpret_cast<uintptr_t>(stream_handle)) == 0)
    return unknown_handle(stream_handle);
  return {};
}

}  // namespace strait
