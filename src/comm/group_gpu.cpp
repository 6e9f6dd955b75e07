// Group: the batches of communicators on GPUs.

#include <algorithm>
#include <optional>

#include "comm/group_batch.hpp"

namespace strait {

// What one communicator runs together is captured together. Other communicators of the group may be
// captured into graphs of their own: programs with a graph for each of their GPUs do so.
Status Group::check_captures(const Batches& batches) {
  for (const auto& batch : batches) {
    std::optional<uint64_t> first;
    for (void* stream : batch->gpu_streams) {
      STRAIT_ASSIGN(const uint64_t capture, batch->comm->capture_id(stream));
      if (!first) first = capture;
      if (*first == capture) continue;
      return error(
          Code::kInvalidUsage,
          "the streams that a communicator is given in a group are captured into different "
          "graphs, or only some are: capture all of them into one graph, or none");
    }
  }
  return Status();
}

// Waits for peers only where something is called for the first time: then beside the others, since
// they may be the peers. Everything else stays on this thread, which the per-thread stream names.
Status Group::prepare_on_gpu(const std::shared_ptr<Batch>& batch, const Batches& batches,
                             std::vector<std::function<Status()>>& waits) {
  const auto background = batch->comm->progress();
  if (batch->comm->is_prepared(batch->operations)) return batch->prepare();
  if (background->blocking()) {
    waits.push_back([batch] { return batch->prepare(); });
    return Status();
  }
  if (std::ranges::any_of(batch->gpu_streams, is_per_thread_stream))
    return batch->give_up(error(
        Code::kInvalidUsage,
        "the per-thread stream names another stream where a non-blocking communicator works: give "
        "it a stream of your own"));
  // Its waits come behind it there, too.
  const auto found = std::ranges::find_if(batches, [&](const auto& other) {
    return other->comm == batch->comm && other->beside_on_gpu();
  });
  const std::shared_ptr<Batch> beside = found == batches.end() ? nullptr : *found;
  const Status begun = background->start([batch, beside]() -> Status {
    const Status ran = batch->run();
    const Status waited = beside ? beside->queue(Communicator::RmaPart::kWaits) : Status();
    return ran.ok() ? waited : ran;
  });
  if (begun.code() != Code::kInProgress) return batch->give_up(begun);
  batch->queued = true;
  if (beside) beside->queued = true;
  return begun;
}

Status Group::queue_on_gpus(const Batches& batches, Communicator::RmaPart part) {
  Status first;
  for (const auto& batch : batches) {
    if (!batch->beside_on_gpu() || batch->queued || batch->ran) continue;
    if (const Status status = batch->queue(part); first.ok()) first = status;
  }
  return first;
}

}  // namespace strait
