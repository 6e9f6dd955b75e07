// HostExecution: one run of a plan on host memory, over real links. It is the machine that the
// interpreter drives: a step's value is bytes. Between domains it encodes straight into the send
// slot and decodes straight into the reduction; a coded chunk that is only stored and forwarded
// travels on as it came. Inside a host it lends what lies in the caller's memory, where the plan
// and the link allow it, and computes straight from what peers lend. Made by the communicator for
// each call, used by the one thread that runs the communicator's work; allocates nothing while it
// runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exec/coding.hpp"
#include "exec/lent.hpp"
#include "exec/reduce.hpp"
#include "plan/interpreter.hpp"
#include "plan/request.hpp"

namespace strait {

// The memory of one call. `work` is the communicator's and holds work_bytes(): the plan's scratch,
// then staging.
struct CallMemory {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* work = nullptr;
};

size_t work_bytes(const BoundPlan& bound, DataType type);

struct HostCall {
  Request request;
  uint64_t number = 0;  // of the call on its communicator
  Arithmetic arithmetic;
  CallMemory memory;
  Coding coding;
};

class HostExecution {
 public:
  HostExecution(const BoundPlan& bound, HostCall call, TrafficCounters& traffic);
  HostExecution(const HostExecution&) = delete;
  HostExecution& operator=(const HostExecution&) = delete;

  // All steps have run, and what was lent to peers is back.
  bool done();
  // Runs as far as possible; 0: only a peer can help.
  Result<uint64_t> advance();
  // Where it stands, for the verdict when a wait ends: "waits for rank 3 (lane 0, step 5, round
  // 2)".
  std::string where() const;

 private:
  class ReduceSink;
  // The contributions of a lane's folded sum so far, and the links whose messages they lie in.
  struct Sum {
    std::vector<Operand> operands;
    std::vector<RecvLink*> held;
  };
  // What the interpreter sees: complete before the class is.
  struct Runner {
    HostExecution* execution;
    Result<Ran> run(const Piece& piece) { return execution->run(piece); }
  };

  Result<Ran> run(const Piece& piece);
  Status sum(const Piece& piece, const Message& message, const StepPorts& ports);
  Status add_up(const Piece& piece, Sum& sum, SendPort* send);
  Status handle(const Piece& piece, const Message& message, SendPort* send);
  void compute(const Piece& piece, const Operand& first, const Operand& second, SendPort* send);
  Status receive_coded(const Piece& piece, const Message& message, SendPort* send);
  Status store_coded(const Piece& piece, const Message& message, void* values);
  Status check(const Piece& piece, const Message& message) const;

  bool is_in_place(const Piece& piece) const;
  Output destination(const Piece& piece, SendPort* send) const;
  void send_value(const Piece& piece, const Operand& value, SendPort& send);
  bool lend(const Piece& piece, std::span<const std::byte> value, SendPort& send);
  bool is_lent(const Piece& piece);
  void send_coded(const Piece& piece, const void* values, SendPort& send);

  Status named(const Status& status) const;
  std::string name() const;
  std::byte* address(const Place& place, uint64_t offset) const;
  Operand operand(const Place& place, const Piece& piece) const;
  Output output(const Place& place, const Piece& piece) const;
  std::byte* staging(const Piece& piece) const;

  const BoundPlan* bound_;
  HostCall call_;
  TrafficCounters* traffic_;
  uint32_t tag_;  // of every message of this call; the peers' must be the same
  bool scales_input_;
  size_t element_bytes_;
  size_t accumulator_bytes_;
  std::vector<Sum> sums_;
  const bool in_place_;
  std::vector<LentRanges> lent_;  // by lane
  Runner runner_{this};
  Interpreter<Runner> interpreter_;
};

}  // namespace strait
