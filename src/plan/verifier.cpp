#include "plan/verifier.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <tuple>

#include "plan/interpreter.hpp"
#include "plan/loans.hpp"
#include "plan/placement.hpp"
#include "plan/plan_check.hpp"
#include "plan/provenance.hpp"

namespace strait {
namespace {

struct Message {
  Runs runs;
  uint64_t count;
  Wire wire;
};

struct Queue {
  std::deque<Message> messages;
  uint64_t posted = 0;
  uint64_t released = 0;  // of these; the slots of messages are kept, see Rank::release_slots

  uint64_t used() const { return posted - released; }
};

// Elements that a peer reads where they lie, until it has released so many messages of the queue.
struct Lent {
  const Queue* queue;
  uint64_t number;
  uint64_t begin;
  uint64_t end;
};

using LinkName = std::tuple<int, int, int>;  // source, destination, lane

// What all ranks share.
struct World {
  RankSets sets;
  size_t slots;
  std::map<LinkName, Queue> queues;
  std::deque<int> runnable;
  std::vector<bool> queued;

  void wake(int rank) {
    if (queued[static_cast<size_t>(rank)]) return;
    queued[static_cast<size_t>(rank)] = true;
    runnable.push_back(rank);
  }
};

// One rank, as a machine for the interpreter.
class Rank {
 public:
  Rank(World& world, const Call& call, int rank, int rank_count, const Placement& placement,
       const Conditions& conditions)
      : world_(&world),
        call_(&call),
        rank_(rank),
        rank_count_(rank_count),
        placement_(placement),
        in_place_(conditions.in_place),
        loans_(find_loans(call.request, call.plan,
                          {.overwrites = conditions.overwrites_loans, .slots = 0})),
        held_(call.plan.lanes.size()),
        lent_(call.plan.lanes.size()) {
    const uint64_t inputs = input_count(call.request, rank, rank_count);
    const Origin origin{.index = 0, .ranks = world.sets.single(rank), .raw = true};
    if (inputs > 0) memory_.write(placement_.address({Buffer::kInput, 0}), {{inputs, origin}});
  }

  Result<Ran> run(const Piece& piece);
  std::string blocked_at(const Piece& piece) const;
  Status check_output() const;

 private:
  Queue& queue(int from, int to, int lane) const { return world_->queues[{from, to, lane}]; }
  void release_slots(int lane);
  bool is_lent(const Piece& piece) const;
  void lend(const Piece& piece, const Queue& outgoing);
  Status local(const Piece& piece, const Place& place, Runs& runs) const;
  Status value_of(const Piece& piece, const Message* message, Runs& value) const;
  Status check_apart(const Piece& piece) const;
  Status expect(uint64_t offset, uint64_t count, RankSets::Id ranks, uint64_t index) const;
  Place moved(const Piece& piece, const Place& place) const {
    return {place.buffer, place.offset + (place.buffer == Buffer::kScratch ? 0 : piece.offset)};
  }

  World* world_;
  const Call* call_;
  int rank_;
  int rank_count_;
  Placement placement_;
  bool in_place_;
  Loans loans_;
  ElementMap memory_;
  std::vector<std::vector<int>> held_;   // by lane: peers whose messages' slots are kept
  std::vector<std::vector<Lent>> lent_;  // by lane
};

Result<Ran> Rank::run(const Piece& piece) {
  const Step& step = *piece.step;
  Queue* incoming = nullptr;
  Queue* outgoing = nullptr;
  if (step.recv_from != kNoPeer) {
    incoming = &queue(step.recv_from, rank_, piece.lane);
    if (incoming->messages.empty()) return Ran::kBlocked;
  }
  if (step.send_to != kNoPeer) {
    outgoing = &queue(rank_, step.send_to, piece.lane);
    if (outgoing->used() >= world_->slots) return Ran::kBlocked;
  }
  if (is_lent(piece)) return Ran::kBlocked;
  Runs value;
  if (Status status = value_of(piece, incoming ? &incoming->messages.front() : nullptr, value);
      !status.ok())
    return status.at(step_place(rank_, static_cast<size_t>(piece.lane), piece.index, step) +
                     fmt::format(", round {}", piece.round));
  if (step.target) memory_.write(placement_.address(moved(piece, *step.target)), value);
  if (incoming != nullptr) {
    incoming->messages.pop_front();
    held_[static_cast<size_t>(piece.lane)].push_back(step.recv_from);
  }
  if (!step.target || step.target->buffer != Buffer::kScratch) release_slots(piece.lane);
  if (outgoing != nullptr) {
    outgoing->messages.push_back({std::move(value), piece.count, step.send_wire});
    ++outgoing->posted;
    lend(piece, *outgoing);
    world_->wake(step.send_to);
  }
  return Ran::kDone;
}

// An executor may keep the messages of a sum, whose steps but the last end in scratch, until it
// adds all of them up at once. Assuming that it does proves the plan for one that does not: it only
// has more room.
void Rank::release_slots(int lane) {
  std::vector<int>& held = held_[static_cast<size_t>(lane)];
  for (const int peer : held) {
    ++queue(peer, rank_, lane).released;
    world_->wake(peer);
  }
  held.clear();
}

// Whether a peer still reads what the step is to overwrite.
bool Rank::is_lent(const Piece& piece) const {
  const Step& step = *piece.step;
  if (!step.target || step.target->buffer == Buffer::kScratch) return false;
  const uint64_t begin = placement_.address(moved(piece, *step.target));
  return std::ranges::any_of(lent_[static_cast<size_t>(piece.lane)], [&](const Lent& lent) {
    return lent.queue->released < lent.number && lent.begin < begin + piece.count &&
           begin < lent.end;
  });
}

void Rank::lend(const Piece& piece, const Queue& outgoing) {
  const Loan loan = loans_[static_cast<size_t>(piece.lane)][piece.index];
  if (loan == Loan::kNever || (loan == Loan::kApart && in_place_)) return;
  const Place place = *lendable(*piece.step, call_->request);
  const uint64_t begin = placement_.address(moved(piece, place));
  std::vector<Lent>& lent = lent_[static_cast<size_t>(piece.lane)];
  std::erase_if(lent, [](const Lent& old) { return old.queue->released >= old.number; });
  lent.push_back({&outgoing, outgoing.posted, begin, begin + piece.count});
}

Status Rank::value_of(const Piece& piece, const Message* message, Runs& value) const {
  const Step& step = *piece.step;
  STRAIT_TRY(check_apart(piece));
  std::vector<Runs> operands;
  if (message != nullptr) {
    if (message->count != piece.count)
      return error(Code::kInternalError, "takes {} elements, rank {} sent {}", piece.count,
                   step.recv_from, message->count);
    if (message->wire != step.recv_wire)
      return error(Code::kInternalError, "takes {} bytes, rank {} sent {} ones",
                   step.recv_wire == Wire::kCoded ? "coded" : "plain", step.recv_from,
                   message->wire == Wire::kCoded ? "coded" : "plain");
    operands.push_back(message->runs);
  }
  for (const std::optional<Place>* place : {&step.source, &step.addend})
    if (*place) STRAIT_TRY(local(piece, **place, operands.emplace_back()));
  value = std::move(operands.front());
  if (operands.size() > 1) {
    STRAIT_ASSIGN(value, combine(world_->sets, value, operands.back()));
  }
  return step.finish ? finish(world_->sets, value) : Status();
}

// What lies at a place, as the step reads it: through the input only what the caller left there,
// through output and scratch only what a step has written.
Status Rank::local(const Piece& piece, const Place& place, Runs& runs) const {
  const uint64_t address = placement_.address(moved(piece, place));
  if (const auto gap = memory_.read(address, piece.count, runs))
    return error(Code::kInternalError, "reads element {} of its {} elements before it is written",
                 gap->address - address, piece.count);
  const bool from_input = place.buffer == Buffer::kInput;
  Origin own{.index = place.offset + piece.offset, .ranks = world_->sets.single(rank_)};
  for (Run& run : runs) {
    // Without a reduction an input copied onto itself is still the input; with one it has been
    // scaled.
    const bool still_input =
        run.first.raw || (run.first == own && !reduces(call_->request.collective));
    if (from_input && !still_input)
      return error(Code::kInternalError, "reads input that has been overwritten");
    if (!from_input && run.first.raw)
      return error(Code::kInternalError, "reads output before it is written");
    run.first.raw = false;
    own = own.advanced(run.count);
  }
  return {};
}

// An operand may lie exactly where the target lies, or away from it.
Status Rank::check_apart(const Piece& piece) const {
  const Step& step = *piece.step;
  if (!step.target) return {};
  const uint64_t target = placement_.address(moved(piece, *step.target));
  for (const std::optional<Place>* place : {&step.source, &step.addend}) {
    if (!*place) continue;
    const uint64_t operand = placement_.address(moved(piece, **place));
    if (operand != target && operand < target + piece.count && target < operand + piece.count)
      return error(Code::kInternalError, "reads and writes ranges that half overlap");
  }
  return {};
}

std::string Rank::blocked_at(const Piece& piece) const {
  const Step& step = *piece.step;
  const bool lacks_message =
      step.recv_from != kNoPeer && queue(step.recv_from, rank_, piece.lane).messages.empty();
  const bool lacks_slot =
      step.send_to != kNoPeer && queue(rank_, step.send_to, piece.lane).used() >= world_->slots;
  const std::string what = lacks_message ? fmt::format("a message of rank {}", step.recv_from)
                           : lacks_slot  ? fmt::format("a free slot to rank {}", step.send_to)
                                         : "peers to give back what they were lent";
  return step_place(rank_, static_cast<size_t>(piece.lane), piece.index, step) +
         fmt::format(", round {}: waits for ever for {}", piece.round, what);
}

// `count` elements of the output must hold the elements from `index` on of these ranks.
Status Rank::expect(uint64_t offset, uint64_t count, RankSets::Id ranks, uint64_t index) const {
  Runs found;
  if (const auto gap = memory_.read(placement_.address({Buffer::kOutput, offset}), count, found))
    return error(Code::kInternalError, "rank {}: element {} of the output is never written", rank_,
                 gap->address - placement_.address({Buffer::kOutput, 0}));
  Origin wanted{.index = index, .ranks = ranks, .finished = reduces(call_->request.collective)};
  for (const Run& run : found) {
    if (run.first != wanted)
      return error(
          Code::kInternalError,
          "rank {}: element {} of the output holds {}element {} of ranks {}, not {}element "
          "{} of ranks {}",
          rank_, offset, run.first.finished ? "the finished " : "", run.first.index,
          world_->sets.describe(run.first.ranks), wanted.finished ? "the finished " : "",
          wanted.index, world_->sets.describe(wanted.ranks));
    wanted = wanted.advanced(run.count);
    offset += run.count;
  }
  return {};
}

Status Rank::check_output() const {
  const Request& request = call_->request;
  if (request.count == 0 || output_count(request, rank_, rank_count_) == 0) return {};
  const uint64_t own_block = request.count * static_cast<uint64_t>(rank_);
  switch (request.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      return expect(0, request.count, world_->sets.all(), 0);
    case Collective::kReduceScatter:
      return expect(0, request.count, world_->sets.all(), own_block);
    case Collective::kBroadcast:
    case Collective::kReceive:
      return expect(0, request.count, world_->sets.single(request.root), 0);
    case Collective::kScatter:
      return expect(0, request.count, world_->sets.single(request.root), own_block);
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kAllToAll:
      break;
    case Collective::kSend:
      return {};
  }
  const uint64_t index = request.collective == Collective::kAllToAll ? own_block : 0;
  for (int r = 0; r < rank_count_; ++r)
    STRAIT_TRY(expect(request.count * static_cast<uint64_t>(r), request.count,
                      world_->sets.single(r), index));
  return {};
}

struct Runner {
  Runner(World& world, const Call& call, int rank, int rank_count, const Placement& placement,
         const Conditions& conditions)
      : machine(world, call, rank, rank_count, placement, conditions),
        interpreter(call.plan, machine) {}
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  Rank machine;
  Interpreter<Rank> interpreter;
};
using Runners = std::vector<std::unique_ptr<Runner>>;

// Runs until nobody can go on.
Status run_all(World& world, Runners& runners) {
  for (int rank = 0; rank < static_cast<int>(runners.size()); ++rank) world.wake(rank);
  while (!world.runnable.empty()) {
    const size_t rank = static_cast<size_t>(world.runnable.front());
    world.runnable.pop_front();
    world.queued[rank] = false;
    if (const Result<uint64_t> ran = runners[rank]->interpreter.advance(); !ran.ok())
      return ran.status();
  }
  for (const std::unique_ptr<Runner>& runner : runners) {
    const Interpreter<Rank>& interpreter = runner->interpreter;
    for (size_t lane = 0; !interpreter.done() && lane < interpreter.lane_count(); ++lane)
      if (!interpreter.lane_done(lane))
        return Status(Code::kInternalError, runner->machine.blocked_at(interpreter.piece(lane)));
  }
  return {};
}

Status check_end(const World& world, const Runners& runners) {
  for (const auto& [name, queue] : world.queues) {
    const auto& [source, destination, lane] = name;
    if (!queue.messages.empty())
      return error(Code::kInternalError, "lane {}: rank {} never takes {} messages of rank {}",
                   lane, destination, queue.messages.size(), source);
  }
  for (const std::unique_ptr<Runner>& runner : runners) STRAIT_TRY(runner->machine.check_output());
  return {};
}

}  // namespace

Status verify(const std::vector<Call>& calls, const Conditions& conditions) {
  const int rank_count = static_cast<int>(calls.size());
  int slots_min = 1;
  std::vector<Placement> placements;
  for (int rank = 0; rank < rank_count; ++rank) {
    const auto& [request, plan] = calls[static_cast<size_t>(rank)];
    placements.push_back(place_buffers(request, plan, rank, rank_count, conditions.in_place));
    STRAIT_TRY(check_plan(request, plan, rank, rank_count, placements.back()));
    slots_min = std::max(slots_min, plan.slots_min);
  }
  const int slots = conditions.slots == 0 ? slots_min : conditions.slots;
  if (slots < slots_min)
    return error(Code::kInvalidArgument,
                 "links have {} slots and the plan needs {}; raise STRAIT_SLOTS", slots, slots_min);
  World world{.sets = RankSets(rank_count),
              .slots = static_cast<size_t>(slots),
              .queues = {},
              .runnable = {},
              .queued = std::vector<bool>(calls.size())};
  Runners runners;
  for (int rank = 0; rank < rank_count; ++rank) {
    const size_t i = static_cast<size_t>(rank);
    runners.push_back(
        std::make_unique<Runner>(world, calls[i], rank, rank_count, placements[i], conditions));
  }
  STRAIT_TRY(run_all(world, runners));
  return check_end(world, runners);
}

Status verify_collective(const Request& request, const Topology& topology, const Choice& choice) {
  if (request.collective == Collective::kSend || request.collective == Collective::kReceive)
    return error(Code::kInvalidArgument,
                 "{}: one side does not tell what its peer does; give verify() the calls of both",
                 name_of(request.collective));
  std::vector<Call> calls;
  for (int rank = 0; rank < topology.rank_count(); ++rank) {
    STRAIT_ASSIGN(Plan plan, make_plan(request, topology, choice, rank));
    calls.push_back({request, std::move(plan)});
  }
  Conditions conditions{.overwrites_loans = may_overwrite_loans(choice.algorithm)};
  STRAIT_TRY(verify(calls, conditions));
  conditions.in_place = in_place_offset(request, 0, topology.rank_count()).has_value();
  return conditions.in_place ? verify(calls, conditions) : Status();
}

}  // namespace strait
