// A second, plain reading of plans, to judge the verifier by: memory is an array of values,
// messages are copies, and who runs next is drawn by lot. The algebra says what values are.
#pragma once

#include <deque>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "plan/interpreter.hpp"
#include "plan/placement.hpp"
#include "plan/verifier.hpp"

namespace strait::plan_test {

// Numbers: any mistake changes the result, as good as surely.
struct Numbers {
  using Value = uint64_t;
  static Value garbage() { return 0xdeadbeefcafe1234u; }
  static Value input(int rank, uint64_t index) {
    return (static_cast<uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15u ^
           (index + 1) * 0xbf58476d1ce4e5b9u;
  }
  static Value scaled(Value value) { return value * 3; }
  static Value combine(Value a, Value b) { return a + b; }
  static Value finish(Value value) { return value * 5 + 11; }
  static Value narrow(Value value) { return value; }
};

// Expressions: which additions in which order, and where a sum is rounded: (a+b) is wide, [(a+b)]
// rounded.
struct Expressions {
  using Value = std::string;
  static Value garbage() { return "?"; }
  static Value input(int rank, uint64_t) { return std::string(1, static_cast<char>('a' + rank)); }
  static Value scaled(const Value& value) { return value; }
  // Addition commutes bit for bit, so the operand of the lower rank is written first.
  static Value combine(const Value& a, const Value& b) {
    const bool in_order = first_rank(a) < first_rank(b);
    return "(" + (in_order ? a : b) + "+" + (in_order ? b : a) + ")";
  }
  static Value finish(const Value& value) { return value; }
  static Value narrow(const Value& value) { return value[0] == '(' ? "[" + value + "]" : value; }
  static char first_rank(const Value& value) {
    return value[std::min(value.find_first_of("abcdefghijklmnopqrstuvwxyz"), value.size() - 1)];
  }
};

template <class Algebra>
class Concrete {
 public:
  using Value = typename Algebra::Value;

  Concrete(const std::vector<Call>& calls, const Conditions& conditions)
      : calls_(calls), slots_(static_cast<size_t>(conditions.slots)) {
    const int ranks = static_cast<int>(calls.size());
    for (int rank = 0; rank < ranks; ++rank) {
      const Call& call = calls[static_cast<size_t>(rank)];
      const Placement placement =
          place_buffers(call.request, call.plan, rank, ranks, conditions.in_place);
      Memory memory{placement, std::vector<Value>(placement.begin[2] + placement.count[2],
                                                  Algebra::garbage())};
      for (uint64_t i = 0; i < placement.count[0]; ++i)
        memory.values[placement.begin[0] + i] = Algebra::input(rank, i);
      memories_.push_back(std::move(memory));
    }
  }

  // False: it hangs, or messages do not fit.
  bool run(uint32_t seed) {
    std::minstd_rand lots(seed);
    std::vector<Machine> machines;
    for (size_t rank = 0; rank < calls_.size(); ++rank)
      machines.push_back({this, static_cast<int>(rank)});
    std::vector<Interpreter<Machine>> interpreters;
    for (size_t rank = 0; rank < calls_.size(); ++rank)
      interpreters.emplace_back(calls_[rank].plan, machines[rank]);
    std::vector<std::pair<size_t, size_t>> turns;  // rank, lane
    for (size_t rank = 0; rank < calls_.size(); ++rank)
      for (size_t lane = 0; lane < calls_[rank].plan.lanes.size(); ++lane)
        turns.emplace_back(rank, lane);
    for (uint64_t moved = 1; moved > 0;) {
      moved = 0;
      std::shuffle(turns.begin(), turns.end(), lots);
      for (const auto& [rank, lane] : turns) {
        const Result<uint64_t> ran = interpreters[rank].advance_lane(lane, 1 + lots() % 3);
        if (!ran.ok()) return false;
        moved += ran.value();
      }
    }
    return std::all_of(interpreters.begin(), interpreters.end(),
                       [](const auto& interpreter) { return interpreter.done(); });
  }

  const Value& output(size_t rank, uint64_t index) const {
    return memories_[rank].values[memories_[rank].placement.begin[1] + index];
  }

 private:
  struct Memory {
    Placement placement;
    std::vector<Value> values;
  };
  struct Machine {
    Concrete* world;
    int rank;
    Result<Ran> run(const Piece& piece) { return world->run_piece(rank, piece); }
  };

  uint64_t address(const Memory& memory, const Piece& piece, const Place& place) const {
    return memory.placement.address(place) + (place.buffer == Buffer::kScratch ? 0 : piece.offset);
  }

  Result<Ran> run_piece(int rank, const Piece& piece) {
    const Step& step = *piece.step;
    const Request& request = calls_[static_cast<size_t>(rank)].request;
    Memory& memory = memories_[static_cast<size_t>(rank)];
    auto& incoming = queues_[{step.recv_from, rank, piece.lane}];
    auto& outgoing = queues_[{rank, step.send_to, piece.lane}];
    if (step.recv_from != kNoPeer && incoming.empty()) return Ran::kBlocked;
    if (step.send_to != kNoPeer && outgoing.size() >= slots_) return Ran::kBlocked;
    if (step.recv_from != kNoPeer && incoming.front().size() != piece.count)
      return error(Code::kInternalError, "a message of the wrong size");
    std::vector<Value> sent;
    for (uint64_t i = 0; i < piece.count; ++i) {
      std::vector<Value> operands;
      if (step.recv_from != kNoPeer) operands.push_back(incoming.front()[i]);
      for (const auto* place : {&step.source, &step.addend}) {
        if (!*place) continue;
        const Value& found = memory.values[address(memory, piece, **place) + i];
        const bool scaled = (*place)->buffer == Buffer::kInput && reduces(request.collective);
        operands.push_back(scaled ? Algebra::scaled(found) : found);
      }
      Value value = operands.size() == 1 ? operands[0] : Algebra::combine(operands[0], operands[1]);
      if (step.finish) value = Algebra::finish(value);
      if (step.target)
        memory.values[address(memory, piece, *step.target) + i] =
            step.target->buffer == Buffer::kScratch ? value : Algebra::narrow(value);
      sent.push_back(Algebra::narrow(value));
    }
    if (step.recv_from != kNoPeer) incoming.pop_front();
    if (step.send_to != kNoPeer) outgoing.push_back(std::move(sent));
    return Ran::kDone;
  }

  const std::vector<Call>& calls_;
  size_t slots_;
  std::vector<Memory> memories_;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<Value>>> queues_;
};

}  // namespace strait::plan_test
