// Group: the calls of one thread between ncclGroupStart and the outermost ncclGroupEnd; a call
// outside a group is a group of its own. When the group ends, its communicators are made side by
// side, or its operations are launched: one batch per communicator, in the order of their first
// call. Everything here is thread-local state of the calling thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/status.hpp"
#include "comm/communicator.hpp"

namespace strait {

// The making of a communicator, to be begun when the group ends.
struct Making {
  std::function<Status()> run;
  std::function<void(const Status& why)> give_up;  // in place of run(): tells who waits for it
  std::shared_ptr<Progress> background;            // null: complete before the group ends
  bool first = true;                               // not from a parent
  // Those that name the same one run one after the other, in the order of their calls.
  const Communicator* in_turn = nullptr;
};

class Group {
 public:
  // Of the calling thread.
  static Group& current();

  void start();
  // The first failure of any call in the group, which drops the group, or of what it launched;
  // kInProgress when some of it goes on in the background.
  Status end();
  // As end(), but nothing is carried out: how long it would have taken, in microseconds. Inside an
  // outer group 0.
  Result<double> simulate_end();

  // Adds an operation on a stream handle (nullptr: complete before the group ends). Ends the group
  // if none is open.
  Status submit(std::shared_ptr<Communicator> comm, const Operation& operation, void* stream);
  // The same for a one-sided call, whose rma() is open.
  Status submit(std::shared_ptr<Communicator> comm, RmaCall call, void* stream);
  // Adds the making of a communicator. Ends the group if none is open.
  Status submit(Making making);
  // A call with bad arguments inside a group makes the group fail.
  Status refuse(const Status& why);

 private:
  struct Batch;
  struct Entry {
    std::shared_ptr<Communicator> comm;
    Operation operation;
    std::optional<RmaCall> one_sided;  // in place of the operation
    void* stream;
  };

  Status end_outermost();
  Status check_makings() const;
  Status launch_makings(std::vector<Making> makings);
  using Batches = std::vector<std::shared_ptr<Batch>>;
  Result<Batches> take_batches();
  static Status check_captures(const Batches& batches);
  static Status prepare_on_gpu(const std::shared_ptr<Batch>& batch, const Batches& batches,
                               std::vector<std::function<Status()>>& waits);
  static Status queue_on_gpus(const Batches& batches, Communicator::RmaPart part);
  Status launch();

  int depth_ = 0;
  Status refused_;
  std::vector<Making> makings_;
  std::vector<Entry> entries_;
};

}  // namespace strait
