#include "comm/group.hpp"

#include <algorithm>
#include <latch>
#include <thread>
#include <vector>

#include "exec/stream.hpp"

namespace strait {
namespace {

// What one communicator does for one group.
struct Batch {
  std::shared_ptr<Communicator> comm;
  std::vector<Operation> operations;
  std::vector<std::shared_ptr<HostStream>> streams;
  bool synchronous = false;  // some operation was given no stream
  uint64_t ticket = 0;

  Status run() const { return comm->run(ticket, operations); }
};

// Runs all jobs at the same time, the first one on this thread; returns the first failure in their
// order.
Status run_beside(const std::vector<std::function<Status()>>& jobs) {
  std::vector<Status> results(jobs.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < jobs.size(); ++i) threads.emplace_back([&, i] { results[i] = jobs[i](); });
  if (!jobs.empty()) results[0] = jobs[0]();
  for (std::thread& thread : threads) thread.join();
  const auto failed = std::ranges::find_if(results, [](const Status& s) { return !s.ok(); });
  return failed == results.end() ? Status() : *failed;
}

// The batch runs once all its streams have come to it; returns what opens when it is done.
Result<std::shared_ptr<std::latch>> enqueue(std::shared_ptr<Batch> batch) {
  auto done = std::make_shared<std::latch>(1);
  STRAIT_TRY(enqueue_joined(batch->streams, [batch, done] {
    // The communicator keeps the failure for ncclCommGetAsyncError.
    [[maybe_unused]] const Status status = batch->run();
    done->count_down();
  }));
  return done;
}

}  // namespace

Group& Group::current() {
  thread_local Group group;
  return group;
}

void Group::start() {
  ++depth_;
}

Status Group::end() {
  if (depth_ == 0)
    return error(Code::kInvalidUsage,
                 "ncclGroupEnd without ncclGroupStart on this thread: call ncclGroupStart first");
  if (--depth_ > 0) return Status();
  const Status refused = std::exchange(refused_, Status());
  const auto makings = std::exchange(makings_, {});
  if (!refused.ok()) {
    entries_.clear();
    return refused;
  }
  if (!makings.empty() && !entries_.empty()) {
    entries_.clear();
    return error(Code::kInvalidUsage,
                 "a group makes communicators and uses some: end the group in between");
  }
  STRAIT_TRY(run_beside(makings));
  return launch();
}

Status Group::submit(std::shared_ptr<Communicator> comm, const Operation& operation, void* stream) {
  entries_.push_back({.comm = std::move(comm), .operation = operation, .stream = stream});
  return depth_ > 0 ? Status() : launch();
}

Status Group::submit_making(std::function<Status()> make) {
  if (depth_ == 0) return make();
  makings_.push_back(std::move(make));
  return Status();
}

Status Group::refuse(const Status& why) {
  if (depth_ > 0 && refused_.ok()) refused_ = why;
  return why;
}

Status Group::launch() {
  const auto entries = std::exchange(entries_, {});
  std::vector<std::shared_ptr<Batch>> batches;
  for (const Entry& entry : entries) {
    auto found = std::ranges::find_if(batches, [&](auto& b) { return b->comm == entry.comm; });
    if (found == batches.end()) {
      batches.push_back(std::make_shared<Batch>());
      batches.back()->comm = entry.comm;
      found = std::prev(batches.end());
    }
    Batch& batch = **found;
    batch.operations.push_back(entry.operation);
    STRAIT_ASSIGN(auto stream, find_stream(entry.stream));
    if (!stream)
      batch.synchronous = true;
    else if (std::ranges::find(batch.streams, stream) == batch.streams.end())
      batch.streams.push_back(std::move(stream));
  }
  std::vector<std::function<Status()>> waits;
  for (const auto& batch : batches) batch->ticket = batch->comm->take_ticket();
  for (const auto& batch : batches) {
    if (batch->streams.empty()) {
      waits.push_back([batch] { return batch->run(); });
      continue;
    }
    const auto done = enqueue(batch);
    if (!done.ok()) {
      // The ticket must be used up, or the communicator's next call waits for ever.
      batch->comm->fail(done.status());
      waits.push_back([batch] { return batch->run(); });
    } else if (batch->synchronous) {
      waits.push_back([batch, latch = *done] {
        latch->wait();
        return batch->comm->failure();
      });
    }
  }
  return run_beside(waits);
}

}  // namespace strait
