#include "exec/host_execution.hpp"

#include <cstring>
#include <functional>

#include "plan/tag.hpp"

namespace strait {
namespace {

// Whether a call's input and output share memory.
bool share(const HostCall& call, int rank, int ranks) {
  const CallMemory& memory = call.memory;
  if (memory.input == nullptr || memory.output == nullptr) return false;
  const size_t element_bytes = size_of(call.request.type);
  const size_t input_bytes = input_count(call.request, rank, ranks) * element_bytes;
  const size_t output_bytes = output_count(call.request, rank, ranks) * element_bytes;
  return std::less<>()(memory.input, memory.output + output_bytes) &&
         std::less<>()(memory.output, memory.input + input_bytes);
}

}  // namespace

size_t work_bytes(const BoundPlan& bound, DataType type) {
  return bound.plan.scratch_count * accumulator_size(type) + bound.staging_count * size_of(type);
}

// Combines decoded blocks with the step's source as they come out of the codec.
class HostExecution::ReduceSink final : public codec::BlockSink {
 public:
  ReduceSink(const HostExecution& execution, const Output& out, const Operand& source, bool finish)
      : execution_(execution), out_(out), source_(source), finish_(finish) {}

  void block(const void* values, size_t first, size_t count) override {
    Operand source = source_;
    if (source.data != nullptr) source.data = at(source_.data, source_.form, first);
    const Output out{.data = const_cast<std::byte*>(at(out_.data, out_.form, first)),
                     .form = out_.form};
    const Operand received{.data = values};
    if (source.data == nullptr)
      combine(execution_.call_.arithmetic, out, received, {}, finish_, count);
    else
      combine(execution_.call_.arithmetic, out, source, received, finish_, count);
  }

 private:
  const std::byte* at(const void* base, Form form, size_t element) const {
    const size_t bytes =
        form == Form::kWide ? execution_.accumulator_bytes_ : execution_.element_bytes_;
    return static_cast<const std::byte*>(base) + element * bytes;
  }

  const HostExecution& execution_;
  const Output out_;
  const Operand source_;
  const bool finish_;
};

HostExecution::HostExecution(const BoundPlan& bound, HostCall call, TrafficCounters& traffic)
    : bound_(&bound),
      call_(std::move(call)),
      traffic_(&traffic),
      tag_(tag_of(call_.request, call_.number)),
      scales_input_(reduces(call_.request.collective) && call_.arithmetic.has_scale),
      element_bytes_(size_of(call_.arithmetic.type)),
      accumulator_bytes_(accumulator_size(call_.arithmetic.type)),
      sums_(bound.plan.lanes.size()),
      in_place_(share(call_, bound.plan.rank, bound.plan.rank_count)),
      lent_(bound.plan.lanes.size()),
      interpreter_(bound.plan, runner_) {
  for (size_t lane = 0; lane < lent_.size(); ++lane) lent_[lane].reserve(bound.loans_max[lane]);
}

bool HostExecution::done() {
  return interpreter_.done() &&
         std::ranges::all_of(lent_, [](LentRanges& lane) { return lane.all_back(); });
}

Result<uint64_t> HostExecution::advance() {
  STRAIT_ASSIGN(const uint64_t ran, interpreter_.advance());
  if (ran > 0) return ran;
  // Who was lent something may have failed or left, and no step would see it.
  for (LentRanges& lane : lent_)
    if (!lane.all_back()) STRAIT_TRY(named(lane.loss()));
  return ran;
}

Result<Ran> HostExecution::run(const Piece& piece) {
  const StepPorts& ports = bound_->ports[piece.lane][piece.index];
  Message message;
  if (ports.recv != nullptr) {
    message = ports.recv->recv_slot();
    if (message.bytes.empty()) {
      // A peer may send its last message and leave: look again before believing the failure.
      const Status status = ports.recv->status();
      if (!status.ok()) message = ports.recv->recv_slot();
      if (message.bytes.empty()) {
        if (!status.ok()) return named(status);
        return Ran::kBlocked;
      }
    }
  }
  if (ports.send != nullptr && ports.send->take().empty()) {
    STRAIT_TRY(named(ports.send->link->status()));
    return Ran::kBlocked;
  }
  if (is_lent(piece)) return Ran::kBlocked;
  if (ports.sum != SumRole::kAlone) {
    STRAIT_TRY(sum(piece, message, ports));
    return Ran::kDone;
  }
  if (ports.recv == nullptr) {
    STRAIT_TRY(handle(piece, message, ports.send));
    return Ran::kDone;
  }
  if (!ports.recv->pin()) return named(failure_of(*ports.recv));
  if (const Status handled = handle(piece, message, ports.send); !handled.ok()) {
    ports.recv->unpin();
    return handled;
  }
  ports.recv->release();
  return Ran::kDone;
}

// Whether a peer still reads what the step is to overwrite.
bool HostExecution::is_lent(const Piece& piece) {
  const std::optional<Place>& target = piece.step->target;
  if (!target || target->buffer == Buffer::kScratch) return false;
  return !lent_[static_cast<size_t>(piece.lane)].is_free(address(*target, piece.offset),
                                                         piece.count * element_bytes_);
}

// A step of a folded sum: takes note of its contributions; the last one adds up and gives the slots
// back.
Status HostExecution::sum(const Piece& piece, const Message& message, const StepPorts& ports) {
  const Step& step = *piece.step;
  Sum& sum = sums_[piece.lane];
  if (step.source && step.source->buffer != Buffer::kScratch)
    sum.operands.push_back(operand(*step.source, piece));
  if (ports.recv != nullptr) {
    STRAIT_TRY(check(piece, message));
    sum.operands.push_back({.data = message.bytes.data()});
    sum.held.push_back(ports.recv);
  }
  if (step.addend) sum.operands.push_back(operand(*step.addend, piece));
  if (ports.sum == SumRole::kPart) return Status();
  return add_up(piece, sum, ports.send);
}

Status HostExecution::add_up(const Piece& piece, Sum& sum, SendPort* send) {
  for (size_t i = 0; i < sum.held.size(); ++i) {
    if (sum.held[i]->pin()) continue;
    for (size_t pinned = 0; pinned < i; ++pinned) sum.held[pinned]->unpin();
    return named(failure_of(*sum.held[i]));
  }
  const Output out = destination(piece, send);
  combine_many(call_.arithmetic, out, sum.operands, piece.step->finish, piece.count);
  if (send != nullptr) send_value(piece, {.data = out.data, .form = out.form}, *send);
  for (RecvLink* link : sum.held) link->release();
  sum.operands.clear();
  sum.held.clear();
  return Status();
}

Status HostExecution::handle(const Piece& piece, const Message& message, SendPort* send) {
  const Step& step = *piece.step;
  const Operand source = step.source ? operand(*step.source, piece) : Operand{};
  if (message.bytes.empty()) {
    if (is_in_place(piece)) return Status();
    const Operand addend = step.addend ? operand(*step.addend, piece) : Operand{};
    compute(piece, source, addend, send);
    return Status();
  }
  STRAIT_TRY(check(piece, message));
  if (step.recv_wire == Wire::kCoded) return receive_coded(piece, message, send);
  const Operand received{.data = message.bytes.data()};
  if (source.data == nullptr)
    compute(piece, received, {}, send);
  else
    compute(piece, source, received, send);
  return Status();
}

// A copy of a range onto itself, as in-place calls make it: nothing to do.
bool HostExecution::is_in_place(const Piece& piece) const {
  const Step& step = *piece.step;
  if (step.send_to != kNoPeer || step.addend || !step.target || !step.source) return false;
  const Operand source = operand(*step.source, piece);
  const Output target = output(*step.target, piece);
  const bool changes = source.scaled || (step.finish && call_.arithmetic.divisor != 1);
  return source.data == target.data && source.form == target.form && !changes;
}

// Where the value of a step is computed: its target, else straight into the slot, else the staging
// of its lane.
Output HostExecution::destination(const Piece& piece, SendPort* send) const {
  const Step& step = *piece.step;
  if (step.target) return output(*step.target, piece);
  if (step.send_wire == Wire::kPlain) return {.data = send->held.data()};
  return {.data = staging(piece)};
}

void HostExecution::compute(const Piece& piece, const Operand& first, const Operand& second,
                            SendPort* send) {
  const Step& step = *piece.step;
  const bool narrow_as_is = second.data == nullptr && first.form == Form::kNarrow &&
                            !first.scaled && !(step.finish && call_.arithmetic.divisor != 1);
  if (!step.target && narrow_as_is) {
    send_value(piece, first, *send);
    return;
  }
  const Output out = destination(piece, send);
  combine(call_.arithmetic, out, first, second, step.finish, piece.count);
  if (send != nullptr) send_value(piece, {.data = out.data, .form = out.form}, *send);
}

Status HostExecution::receive_coded(const Piece& piece, const Message& message, SendPort* send) {
  const Step& step = *piece.step;
  const Operand source = step.source ? operand(*step.source, piece) : Operand{};
  const bool changes = source.data != nullptr || (step.finish && call_.arithmetic.divisor != 1);
  if (!changes && send != nullptr && step.send_wire == Wire::kCoded) {
    // Encoded once by its owner: the chunk travels on as it came.
    if (step.target) {
      const Output target = output(*step.target, piece);
      STRAIT_CHECK(target.form == Form::kNarrow, "a forwarded chunk is stored narrow");
      STRAIT_TRY(store_coded(piece, message, target.data));
    }
    if (message.bytes.size() > send->held.size())
      return error(Code::kInternalError, "{}: a chunk of {} bytes does not fit the next slot of {}",
                   name(), message.bytes.size(), send->held.size());
    std::memcpy(send->held.data(), message.bytes.data(), message.bytes.size());
    count_coded(*send, *traffic_, piece.count * element_bytes_, message.bytes.size());
    send->commit(message.bytes.size(), tag_);
    return Status();
  }
  const Output out = destination(piece, send);
  if (!changes && out.form == Form::kNarrow) {
    STRAIT_TRY(store_coded(piece, message, out.data));
  } else {
    ReduceSink sink(*this, out, source, step.finish);
    STRAIT_TRY(
        named(codec::decode_blocks(message.bytes, call_.arithmetic.type, piece.count, sink)));
  }
  if (send != nullptr) send_value(piece, {.data = out.data, .form = out.form}, *send);
  return Status();
}

Status HostExecution::store_coded(const Piece& piece, const Message& message, void* values) {
  DataType type = call_.arithmetic.type;
  size_t count = piece.count;
  if (call_.request.collective == Collective::kReceive) {
    // Send and receive agree on bytes only; the chunk knows what it was encoded as.
    STRAIT_ASSIGN(const codec::ChunkInfo info, codec::inspect(message.bytes));
    if (info.count * size_of(info.type) == count * element_bytes_) {
      type = info.type;
      count = info.count;
    }
  }
  return named(codec::decode(message.bytes, type, count, values));
}

Status HostExecution::check(const Piece& piece, const Message& message) const {
  const Step& step = *piece.step;
  if (message.tag != tag_)
    return error(Code::kInvalidUsage,
                 "{}: rank {} calls {}; all ranks must make the same calls in the same order, with "
                 "the same count, type, operation and root",
                 name(), step.recv_from, describe_tag(message.tag));
  if (step.recv_wire == Wire::kPlain && message.bytes.size() != piece.count * element_bytes_)
    return error(Code::kInvalidUsage,
                 "{}: rank {} sent {} bytes where {} were expected: give both ranks the same count "
                 "and type",
                 name(), step.recv_from, message.bytes.size(), piece.count * element_bytes_);
  return Status();
}

void HostExecution::send_value(const Piece& piece, const Operand& value, SendPort& send) {
  const size_t bytes = piece.count * element_bytes_;
  if (piece.step->send_wire == Wire::kPlain) {
    if (lend(piece, {static_cast<const std::byte*>(value.data), bytes}, send)) return;
    if (value.data != send.held.data()) {
      STRAIT_CHECK(bytes <= send.held.size(), "a piece fits its slot");
      combine(call_.arithmetic, {.data = send.held.data()}, value, {}, false, piece.count);
    }
    count_bytes(traffic_->plain_bytes, bytes);
    send.commit(bytes, tag_);
    return;
  }
  if (value.form == Form::kNarrow || element_bytes_ == accumulator_bytes_) {
    send_coded(piece, value.data, send);
    return;
  }
  combine(call_.arithmetic, {.data = staging(piece)}, value, {}, false, piece.count);
  send_coded(piece, staging(piece), send);
}

// Lends the value, if it lies in the caller's memory and its reader reaches it there.
bool HostExecution::lend(const Piece& piece, std::span<const std::byte> value, SendPort& send) {
  const size_t lane = static_cast<size_t>(piece.lane);
  const Loan loan = bound_->ports[lane][piece.index].loan;
  if (loan == Loan::kNever || (loan == Loan::kApart && in_place_)) return false;
  if (value.size() < send.lends_from || !send.link->reaches(value)) return false;
  lent_[lane].add(send, send.lend(value, tag_), value);
  count_bytes(traffic_->plain_bytes, value.size());
  count_bytes(traffic_->lent_bytes, value.size());
  return true;
}

void HostExecution::send_coded(const Piece& piece, const void* values, SendPort& send) {
  const size_t bytes =
      encode_into_slot(send, *traffic_, call_.coding, call_.arithmetic.type, values, piece.count);
  send.commit(bytes, tag_);
}

std::byte* HostExecution::address(const Place& place, uint64_t offset) const {
  switch (place.buffer) {
    case Buffer::kInput:
      return const_cast<std::byte*>(call_.memory.input) + (place.offset + offset) * element_bytes_;
    case Buffer::kOutput:
      return call_.memory.output + (place.offset + offset) * element_bytes_;
    case Buffer::kScratch:
      break;
  }
  return call_.memory.work + place.offset * accumulator_bytes_;
}

Operand HostExecution::operand(const Place& place, const Piece& piece) const {
  return {.data = address(place, piece.offset),
          .form = place.buffer == Buffer::kScratch ? Form::kWide : Form::kNarrow,
          .scaled = place.buffer == Buffer::kInput && scales_input_};
}

Output HostExecution::output(const Place& place, const Piece& piece) const {
  return {.data = address(place, piece.offset),
          .form = place.buffer == Buffer::kScratch ? Form::kWide : Form::kNarrow};
}

std::byte* HostExecution::staging(const Piece& piece) const {
  return call_.memory.work + bound_->plan.scratch_count * accumulator_bytes_ +
         bound_->staging_offsets[piece.lane] * element_bytes_;
}

Status HostExecution::named(const Status& status) const {
  return status.ok() ? status : status.at(name());
}

std::string HostExecution::name() const {
  return describe(call_.request, call_.number);
}

std::string HostExecution::where() const {
  const std::string text = name();
  const Plan& plan = bound_->plan;
  for (size_t lane = 0; lane < plan.lanes.size(); ++lane) {
    if (interpreter_.lane_done(lane)) {
      const SendPort* debtor = lent_[lane].debtor();
      if (debtor == nullptr) continue;
      return text + fmt::format(" waits for rank {} to read what it was sent (lane {})",
                                debtor->peer, lane);
    }
    const Piece piece = interpreter_.piece(lane);
    const Step& step = *piece.step;
    const int peer = step.recv_from != kNoPeer ? step.recv_from : step.send_to;
    return text + fmt::format(" waits for rank {} (lane {}, step {} of {}, round {})", peer, lane,
                              piece.index + 1, plan.lanes[lane].steps.size(), piece.round + 1);
  }
  return text + " is done";
}

}  // namespace strait
