#include "comm/group.hpp"

#include <algorithm>
#include <latch>
#include <new>
#include <system_error>
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
  bool queued = false;  // its streams run it
  bool ran = false;     // the ticket is used up

  Status run() {
    ran = true;
    return comm->run(ticket, operations);
  }
  // The ticket must be used up, or the communicator's next call waits for ever.
  Status give_up(const Status& why) {
    comm->fail(why);
    return run();
  }
};

Status run_one(const std::function<Status()>& job) {
  try {
    return job();
  } catch (const std::bad_alloc&) {
    return error(Code::kSystemError, "out of memory; lower STRAIT_SLOTS or STRAIT_SLOT_BYTES");
  }
}

// Runs all jobs at the same time, the first one on this thread; returns the first failure in their
// order. Where the system has no thread for one, none runs: they wait for each other.
Status run_beside(const std::vector<std::function<Status()>>& jobs) {
  std::vector<Status> results(jobs.size());
  std::vector<std::thread> threads;
  std::latch begin(1);
  Status refused;
  try {
    for (size_t i = 1; i < jobs.size(); ++i)
      threads.emplace_back([&, i] {
        begin.wait();
        if (refused.ok()) results[i] = run_one(jobs[i]);
      });
  } catch (const std::system_error& failure) {
    refused = error(Code::kSystemError,
                    "no thread for a rank of this group: {}; raise the limit of processes "
                    "(ulimit -u)",
                    failure.what());
  }
  begin.count_down();
  if (refused.ok() && !jobs.empty()) results[0] = run_one(jobs[0]);
  for (std::thread& thread : threads) thread.join();
  if (!refused.ok()) return refused;
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
      waits.push_back([batch, why = done.status()] { return batch->give_up(why); });
      continue;
    }
    batch->queued = true;
    if (batch->synchronous) {
      waits.push_back([batch, latch = *done] {
        latch->wait();
        return batch->comm->failure();
      });
    }
  }
  const Status status = run_beside(waits);
  for (const auto& batch : batches)
    if (!status.ok() && !batch->queued && !batch->ran) {
      // Its reason is the status.
      [[maybe_unused]] const Status same = batch->give_up(status);
    }
  return status;
}

}  // namespace strait
