#include "comm/group.hpp"

#include <algorithm>
#include <latch>
#include <map>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "comm/estimate.hpp"
#include "comm/group_batch.hpp"

namespace strait {

namespace {

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

// The jobs of the makings; those that run in turn are one job, which goes through all of them even
// where one fails, as the other ranks do.
std::vector<std::pair<std::shared_ptr<Progress>, std::function<Status()>>> take_turns(
    std::vector<Making> makings) {
  std::vector<std::pair<std::shared_ptr<Progress>, std::function<Status()>>> jobs;
  std::map<const Communicator*, size_t> place;
  for (Making& making : makings) {
    const auto known = place.find(making.in_turn);
    if (making.in_turn == nullptr || known == place.end()) {
      if (making.in_turn != nullptr) place[making.in_turn] = jobs.size();
      jobs.emplace_back(std::move(making.background), std::move(making.run));
      continue;
    }
    auto& job = jobs[known->second].second;
    job = [before = std::move(job), then = std::move(making.run)] {
      Status first = before();
      Status second = then();
      return first.ok() ? second : first;
    };
  }
  return jobs;
}

// The batch runs once all its streams have come to it; returns what opens when it is done.
template <class Batch>
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
  return --depth_ > 0 ? Status() : end_outermost();
}

Result<double> Group::simulate_end() {
  if (depth_ == 0)
    return error(Code::kInvalidUsage,
                 "ncclGroupSimulateEnd without ncclGroupStart on this thread: call ncclGroupStart "
                 "first");
  if (--depth_ > 0) return 0.0;
  const auto entries = std::exchange(entries_, {});
  const auto makings = std::exchange(makings_, {});
  const Status refused = std::exchange(refused_, Status());
  const Status why =
      refused.ok() && !makings.empty()
          ? error(Code::kInvalidUsage, "a group that makes communicators cannot be simulated")
          : refused;
  for (const Making& making : makings) making.give_up(why);
  STRAIT_TRY(why);
  std::map<std::shared_ptr<Communicator>, std::vector<Operation>> by_comm;
  for (const Entry& entry : entries)
    if (!entry.one_sided) by_comm[entry.comm].push_back(entry.operation);
  double slowest_us = 0;
  for (const auto& [comm, operations] : by_comm) {
    STRAIT_ASSIGN(const double us, estimate_us(*comm, operations));
    slowest_us = std::max(slowest_us, us);
  }
  return slowest_us;
}

// Whatever happens, the next group begins with nothing of this one.
Status Group::end_outermost() {
  const Status refused = std::exchange(refused_, Status());
  const Status why = refused.ok() ? check_makings() : refused;
  std::vector<Making> makings = std::exchange(makings_, {});
  if (!why.ok()) {
    entries_.clear();
    for (const Making& making : makings) making.give_up(why);
    return why;
  }
  return makings.empty() ? launch() : launch_makings(std::move(makings));
}

Status Group::check_makings() const {
  if (!makings_.empty() && !entries_.empty())
    return error(Code::kInvalidUsage,
                 "a group makes communicators and uses some: end the group in between");
  const auto differs = [this](const Making& making) {
    return making.first && (making.background == nullptr) != (makings_[0].background == nullptr);
  };
  if (!makings_.empty() && makings_[0].first && std::ranges::any_of(makings_, differs))
    return error(Code::kInvalidArgument,
                 "a group makes blocking and non-blocking communicators: make them in two groups");
  return Status();
}

Status Group::launch_makings(std::vector<Making> makings) {
  std::vector<std::function<Status()>> here;
  std::map<std::shared_ptr<Progress>, std::vector<std::function<Status()>>> beside;
  for (auto& [background, run] : take_turns(std::move(makings)))
    (background ? beside[background] : here).push_back(std::move(run));
  Status begun;
  for (auto& [progress, work] : beside) {
    const Status status = progress->start([work = std::move(work)] { return run_beside(work); });
    if (begun.ok() || begun.code() == Code::kInProgress) begun = status;
  }
  STRAIT_TRY(run_beside(here));
  return begun;
}

Status Group::submit(std::shared_ptr<Communicator> comm, const Operation& operation, void* stream) {
  entries_.push_back(
      {.comm = std::move(comm), .operation = operation, .one_sided = {}, .stream = stream});
  return depth_ > 0 ? Status() : launch();
}

Status Group::submit(std::shared_ptr<Communicator> comm, RmaCall call, void* stream) {
  entries_.push_back(
      {.comm = std::move(comm), .operation = {}, .one_sided = std::move(call), .stream = stream});
  return depth_ > 0 ? Status() : launch();
}

Status Group::submit(Making making) {
  makings_.push_back(std::move(making));
  return depth_ > 0 ? Status() : end_outermost();
}

Status Group::refuse(const Status& why) {
  if (depth_ > 0 && refused_.ok()) refused_ = why;
  return why;
}

// The calls of the group, by communicator.
Result<Group::Batches> Group::take_batches() {
  const auto entries = std::exchange(entries_, {});
  Batches batches;
  for (const Entry& entry : entries) {
    auto found = std::ranges::find_if(batches, [&](auto& b) {
      return b->comm == entry.comm && b->one_sided.empty() == !entry.one_sided;
    });
    if (found == batches.end()) {
      STRAIT_ASSIGN(auto batch, Batch::begin(entry.comm, entry.one_sided.has_value()));
      batches.push_back(std::move(batch));
      found = std::prev(batches.end());
    }
    Batch& batch = **found;
    if (entry.one_sided)
      batch.one_sided.push_back(*entry.one_sided);
    else
      batch.operations.push_back(entry.operation);
    if (entry.comm->device().gpu) {
      if (std::ranges::find(batch.gpu_streams, entry.stream) == batch.gpu_streams.end())
        batch.gpu_streams.push_back(entry.stream);
      continue;
    }
    STRAIT_ASSIGN(auto stream, find_stream(entry.stream));
    if (!stream)
      batch.synchronous = true;
    else if (std::ranges::find(batch.streams, stream) == batch.streams.end())
      batch.streams.push_back(std::move(stream));
  }
  STRAIT_TRY(check_captures(batches));
  for (const auto& batch : batches)
    if (batch->one_sided.empty())
      batch->ticket = batch->comm->take_ticket();
    else
      batch->comm->rma()->begin();
  return batches;
}

Status Group::launch() {
  STRAIT_ASSIGN(const auto batches, take_batches());
  std::vector<std::function<Status()>> waits;
  Status begun;  // kInProgress when something goes on in the background
  const Status put = queue_on_gpus(batches, Communicator::RmaPart::kPuts);
  for (const auto& batch : batches) {
    const auto background = batch->comm->progress();
    if (batch->comm->device().gpu) {
      if (batch->beside_on_gpu()) continue;
      const Status status = prepare_on_gpu(batch, batches, waits);
      if (!status.ok()) begun = status;
      continue;
    }
    if (batch->streams.empty()) {
      if (background->blocking()) {
        waits.push_back([batch] { return batch->run(); });
        continue;
      }
      begun = background->start([batch] { return batch->run(); });
      if (begun.code() != Code::kInProgress)
        waits.push_back([batch, begun] { return batch->give_up(begun); });
      batch->queued = true;
      continue;
    }
    const auto done = enqueue(batch);
    if (!done.ok()) {
      waits.push_back([batch, why = done.status()] { return batch->give_up(why); });
      continue;
    }
    batch->queued = true;
    if (!batch->synchronous) continue;
    const auto wait = [batch, latch = *done] {
      latch->wait();
      return batch->comm->failure();
    };
    if (background->blocking())
      waits.push_back(wait);
    else
      begun = background->start(wait);
  }
  Status status = run_beside(waits);
  for (const auto& batch : batches)
    if (batch->prepared && !batch->ran)
      if (const Status launched = batch->run(); status.ok()) status = launched;
  const Status waited = queue_on_gpus(batches, Communicator::RmaPart::kWaits);
  if (status.ok()) status = put.ok() ? waited : put;
  for (const auto& batch : batches)
    if (!status.ok() && !batch->queued && !batch->ran) {
      // Its reason is the status.
      [[maybe_unused]] const Status same = batch->give_up(status);
    }
  for (const auto& batch : batches) batch->end_call();
  return status.ok() ? begun : status;
}

}  // namespace strait
