// The one interpreter: walks the lanes, rounds and steps of a plan over some machine. The machine
// decides what a value is (contributions, a time, bytes) and whether a piece can run now; the order
// of things is decided here, once, for all. One thread per interpreter. Costs nothing beside the
// machine's own work; allocates only when made.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "plan/plan.hpp"

namespace strait {

// One step of one round.
struct Piece {
  const Step* step;
  int lane;
  size_t index;  // of the step in its lane
  uint64_t round;
  uint64_t offset;  // elements already handled in earlier rounds: round * lane.piece
  uint64_t count;   // elements to handle now, > 0
};

enum class Ran : uint8_t { kDone, kBlocked };

// run() either handles the whole piece (kDone), or changes nothing that the plan can see (kBlocked:
// a message is not there yet, or no slot is free) and is asked again.
template <class M>
concept Machine = requires(M machine, const Piece& piece) {
  { machine.run(piece) } -> std::same_as<Result<Ran>>;
};

inline uint64_t round_count(const Lane& lane) {
  uint64_t rounds = 0;
  for (const Step& step : lane.steps)
    rounds = std::max(rounds, (step.count + lane.piece - 1) / lane.piece);
  return rounds;
}

template <Machine M>
class Interpreter {
 public:
  // The plan must outlive the interpreter.
  Interpreter(const Plan& plan, M& machine) : plan_(&plan), machine_(&machine) {
    lanes_.reserve(plan.lanes.size());
    for (const Lane& lane : plan.lanes) lanes_.push_back({.rounds = round_count(lane)});
    for (size_t i = 0; i < lanes_.size(); ++i) settle(i);
  }

  bool done() const { return finished_ == lanes_.size(); }

  // Runs every lane until it blocks or ends. Returns how many pieces ran: 0 means that only the
  // outside can help.
  Result<uint64_t> advance() {
    uint64_t ran = 0;
    for (size_t i = 0; i < lanes_.size(); ++i) {
      STRAIT_ASSIGN(const uint64_t in_lane, advance_lane(i));
      ran += in_lane;
    }
    return ran;
  }

  // Runs one lane until it blocks or ends (for a simulator that chooses the order by time).
  Result<uint64_t> advance_lane(size_t lane, uint64_t pieces_max = UINT64_MAX) {
    uint64_t ran = 0;
    while (ran < pieces_max && !lane_done(lane)) {
      STRAIT_ASSIGN(const Ran result, machine_->run(piece(lane)));
      if (result == Ran::kBlocked) break;
      ++ran;
      ++lanes_[lane].step;
      settle(lane);
    }
    return ran;
  }

  size_t lane_count() const { return lanes_.size(); }
  bool lane_done(size_t lane) const { return lanes_[lane].round == lanes_[lane].rounds; }

  // The piece a lane stands at; the lane must not be done.
  Piece piece(size_t lane) const {
    const Cursor& at = lanes_[lane];
    const Lane& steps = plan_->lanes[lane];
    const uint64_t offset = at.round * steps.piece;
    const Step& step = steps.steps[at.step];
    return {.step = &step,
            .lane = static_cast<int>(lane),
            .index = at.step,
            .round = at.round,
            .offset = offset,
            .count = std::min(steps.piece, step.count - offset)};
  }

 private:
  struct Cursor {
    uint64_t rounds = 0;
    uint64_t round = 0;
    size_t step = 0;
  };

  // Moves a cursor past the steps that have nothing to do in this round.
  void settle(size_t lane) {
    Cursor& at = lanes_[lane];
    const Lane& steps = plan_->lanes[lane];
    while (at.round < at.rounds) {
      const uint64_t offset = at.round * steps.piece;
      while (at.step < steps.steps.size() && steps.steps[at.step].count <= offset) ++at.step;
      if (at.step < steps.steps.size()) return;
      at.step = 0;
      ++at.round;
    }
    ++finished_;
  }

  const Plan* plan_;
  M* machine_;
  std::vector<Cursor> lanes_;
  size_t finished_ = 0;
};

}  // namespace strait
