// Group::Batch: what one communicator does for one group. Made, run and ended by the group; a batch
// that goes on in the background or on streams is shared with them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "comm/group.hpp"
#include "exec/stream.hpp"

namespace strait {

// Its one-sided calls are a batch of their own, which
// takes no ticket: they wait for peers that may first have to make other calls.
struct Group::Batch {
  static Result<std::shared_ptr<Batch>> begin(std::shared_ptr<Communicator> comm, bool beside) {
    if (!beside && !comm->enter())
      return error(Code::kInvalidUsage,
                   "rank {}: another thread is in a call on this communicator: let one thread at a "
                   "time use it",
                   comm->rank());
    auto batch = std::make_shared<Batch>();
    batch->comm = std::move(comm);
    batch->in_call = !beside;
    return batch;
  }
  // The calling thread is done with the communicator; the work may go on.
  void end_call() {
    if (std::exchange(in_call, false)) comm->leave();
  }
  ~Batch() { end_call(); }

  // One-sided calls of a GPU: puts go into the streams before the group's collectives, waits
  // behind.
  bool beside_on_gpu() const { return comm->device().gpu && !one_sided.empty(); }
  Status queue(Communicator::RmaPart part) {
    ran = part == Communicator::RmaPart::kWaits;
    return comm->queue(one_sided, part, gpu_streams);
  }

  bool in_call = false;
  std::shared_ptr<Communicator> comm;
  std::vector<Operation> operations;
  std::vector<RmaCall> one_sided;
  std::vector<std::shared_ptr<HostStream>> streams;
  std::vector<void*> gpu_streams;
  bool synchronous = false;  // some operation was given no stream
  uint64_t ticket = 0;
  bool queued = false;  // its streams run it
  bool prepared = false;
  bool ran = false;  // the ticket is used up

  Status prepare() {
    prepared = true;
    return comm->prepare(ticket, operations);
  }
  Status run() {
    ran = true;
    if (prepared) return comm->launch(operations, gpu_streams);
    return one_sided.empty() ? comm->run(ticket, operations, gpu_streams) : comm->run(one_sided);
  }
  // The ticket must be used up, or the communicator's next call waits for ever.
  Status give_up(const Status& why) {
    comm->fail(why);
    return run();
  }
};

}  // namespace strait
