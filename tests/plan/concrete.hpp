// A second, plain reading of plans, to judge the verifier by: memory is an array of values,
// messages are copies, or are read where they lie when they are taken, and who runs next is drawn
// by lot. The algebra says what values are.
#pragma once

#include <deque>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "plan/interpreter.hpp"
#include "plan/loans.hpp"
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

enum class Lending { kNone, kGuarded, kUnguarded };  // unguarded: what is lent may be overwritten

template <class Algebra>
class Concrete {
 public:
  using Value = typename Algebra::Value;

  Concrete(const std::vector<Call>& calls, const Conditions& conditions,
           Lending lending = Lending::kNone)
      : calls_(calls), conditions_(conditions), lending_(lending) {
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
      loans_.push_back(find_loans(call.request, call.plan,
                                  {.overwrites = conditions.overwrites_loans, .slots = 0}));
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
  struct Message {
    std::vector<Value> values;
    bool lent;
    bool scaled;       // as it is read
    uint64_t address;  // in the sender's memory
  };
  using Queue = std::deque<Message>;
  struct Machine {
    Concrete* world;
    int rank;
    Result<Ran> run(const Piece& piece) { return world->run_piece(rank, piece); }
  };

  uint64_t address(const Memory& memory, const Piece& piece, const Place& place) const {
    return memory.placement.address(place) + (place.buffer == Buffer::kScratch ? 0 : piece.offset);
  }

  // Whether a peer has still to read what the step overwrites.
  bool is_lent(int rank, const Piece& piece) const {
    const std::optional<Place>& target = piece.step->target;
    if (lending_ != Lending::kGuarded || !target || target->buffer == Buffer::kScratch)
      return false;
    const uint64_t begin = address(memories_[static_cast<size_t>(rank)], piece, *target);
    for (const auto& [name, queue] : queues_)
      for (const Message& message : queue)
        if (std::get<0>(name) == rank && message.lent && message.address < begin + piece.count &&
            begin < message.address + message.values.size())
          return true;
    return false;
  }

  void lend(int rank, const Piece& piece, Message& message) const {
    const size_t index = static_cast<size_t>(rank);
    const Loan loan = loans_[index][static_cast<size_t>(piece.lane)][piece.index];
    message.lent = lending_ != Lending::kNone && loan != Loan::kNever &&
                   !(loan == Loan::kApart && conditions_.in_place);
    if (!message.lent) return;
    const Request& request = calls_[index].request;
    const Place place = *lendable(*piece.step, request);
    message.address = address(memories_[index], piece, place);
    message.scaled = place.buffer == Buffer::kInput && reduces(request.collective);
  }

  std::vector<Value> read_lent(int lender, const Message& message) const {
    const std::vector<Value>& theirs = memories_[static_cast<size_t>(lender)].values;
    std::vector<Value> values;
    for (uint64_t i = 0; i < message.values.size(); ++i) {
      const Value& value = theirs[message.address + i];
      values.push_back(message.scaled ? Algebra::scaled(value) : value);
    }
    return values;
  }

  Result<Ran> run_piece(int rank, const Piece& piece) {
    const Step& step = *piece.step;
    const Request& request = calls_[static_cast<size_t>(rank)].request;
    Memory& memory = memories_[static_cast<size_t>(rank)];
    auto& incoming = queues_[{step.recv_from, rank, piece.lane}];
    auto& outgoing = queues_[{rank, step.send_to, piece.lane}];
    if (step.recv_from != kNoPeer && incoming.empty()) return Ran::kBlocked;
    if (step.send_to != kNoPeer && outgoing.size() >= static_cast<size_t>(conditions_.slots))
      return Ran::kBlocked;
    if (is_lent(rank, piece)) return Ran::kBlocked;
    std::vector<Value> received;
    if (step.recv_from != kNoPeer) {
      const Message& message = incoming.front();
      if (message.values.size() != piece.count)
        return error(Code::kInternalError, "a message of the wrong size");
      received = message.lent ? read_lent(step.recv_from, message) : message.values;
    }
    Message sent{.values = {}, .lent = false, .scaled = false, .address = 0};
    for (uint64_t i = 0; i < piece.count; ++i) {
      std::vector<Value> operands;
      if (step.recv_from != kNoPeer) operands.push_back(received[i]);
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
      sent.values.push_back(Algebra::narrow(value));
    }
    if (step.recv_from != kNoPeer) incoming.pop_front();
    if (step.send_to == kNoPeer) return Ran::kDone;
    lend(rank, piece, sent);
    outgoing.push_back(std::move(sent));
    return Ran::kDone;
  }

  const std::vector<Call>& calls_;
  const Conditions conditions_;
  const Lending lending_;
  std::vector<Memory> memories_;
  std::vector<Loans> loans_;
  std::map<std::tuple<int, int, int>, Queue> queues_;
};

}  // namespace strait::plan_test
