#include "plan/simulator.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <tuple>

#include "plan/interpreter.hpp"
#include "plan/plan_check.hpp"

namespace strait {
namespace {

double transfer_us(double bytes, double rate) {
  return rate > 0 ? bytes / rate * 1e-3 : 0;
}

// Something that serves one message at a time.
struct Pipe {
  double free_at = 0;
  double busy_us = 0;

  // When a message that comes at `at` has passed.
  double pass(double at, double duration) {
    free_at = std::max(free_at, at) + duration;
    busy_us += duration;
    return free_at;
  }
};

struct Queue {
  std::deque<double> arrivals;    // of messages not yet taken
  std::deque<double> slot_frees;  // one per free slot: since when
};

using LinkName = std::tuple<int, int, int>;    // source, destination, lane
using Turn = std::tuple<double, int, size_t>;  // when, rank, lane

// What keeps a piece from starting, and until when.
struct Readiness {
  double lane = 0;
  double message = 0;
  double slot = 0;
  double engine = 0;

  double start() const { return std::max({lane, message, slot, engine}); }
};

// What all ranks share.
struct Network {
  const Topology& topology;
  const Speeds& speeds;
  size_t slots;
  std::map<LinkName, Queue> queues{};
  std::map<std::pair<int, int>, Pipe> inside{};
  std::map<int, Pipe> nics{};
  std::map<int, Pipe> uplinks{};
  double inside_bytes = 0;
  double between_bytes = 0;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns{};

  Queue& queue(int source, int destination, int lane) {
    const auto [found, added] = queues.try_emplace({source, destination, lane});
    if (added) found->second.slot_frees.assign(slots, 0);
    return found->second;
  }

  // When a message that leaves `source` at `at` arrives.
  double carry(int source, int destination, double bytes, double at) {
    if (topology.same_domain(source, destination)) {
      inside_bytes += bytes;
      Pipe& pipe = inside[{source, destination}];
      return pipe.pass(at, transfer_us(bytes, speeds.inside_rate)) + speeds.inside_latency_us;
    }
    between_bytes += bytes;
    const int domain = topology.domain_of[static_cast<size_t>(source)];
    const double nic = nics[source].pass(at, transfer_us(bytes, speeds.nic_rate));
    const double uplink = uplinks[domain].pass(at, transfer_us(bytes, speeds.uplink_rate));
    return std::max(nic, uplink) + speeds.between_latency_us;
  }
};

// One rank, as a machine for the interpreter.
class Rank {
 public:
  Rank(Network& network, const Call& call, int rank)
      : network_(&network), call_(&call), rank_(rank), lanes_(call.plan.lanes.size()) {
    for (const Lane& lane : call.plan.lanes) waits_.emplace_back(lane.steps.size());
  }

  // nullopt: a message or a slot is missing, only a peer can help.
  std::optional<Readiness> ready(const Piece& piece) const;
  Result<Ran> run(const Piece& piece);
  const RankTimes& times() const { return times_; }
  // The longest wait of this rank, if it is longer than what `result` has.
  void report_wait(Simulation& result) const;

 private:
  double work_us(const Step& step, double bytes) const;
  void account(const Piece& piece, const Readiness& ready);

  Network* network_;
  const Call* call_;
  int rank_;
  std::vector<double> lanes_;               // when each lane's last step ended
  std::vector<std::vector<double>> waits_;  // by lane and step
  Pipe engine_;
  RankTimes times_;
};

std::optional<Readiness> Rank::ready(const Piece& piece) const {
  const Step& step = *piece.step;
  Readiness ready{.lane = lanes_[static_cast<size_t>(piece.lane)], .engine = engine_.free_at};
  if (step.recv_from != kNoPeer) {
    const Queue& incoming = network_->queue(step.recv_from, rank_, piece.lane);
    if (incoming.arrivals.empty()) return std::nullopt;
    ready.message = incoming.arrivals.front();
  }
  if (step.send_to != kNoPeer) {
    const Queue& outgoing = network_->queue(rank_, step.send_to, piece.lane);
    if (outgoing.slot_frees.empty()) return std::nullopt;
    ready.slot = outgoing.slot_frees.front();
  }
  return ready;
}

double Rank::work_us(const Step& step, double bytes) const {
  const Speeds& speeds = network_->speeds;
  const bool decodes = step.recv_wire == Wire::kCoded && (step.source || step.target);
  // What came coded and goes on unchanged goes on as it is.
  const bool encodes =
      step.send_wire == Wire::kCoded && (step.recv_wire != Wire::kCoded || step.source.has_value());
  return speeds.step_us + transfer_us(bytes, speeds.memory_rate) +
         transfer_us(bytes, speeds.codec_rate) * (int{decodes} + int{encodes});
}

void Rank::account(const Piece& piece, const Readiness& ready) {
  const double start = ready.start();
  const double wait = start - ready.lane;
  waits_[static_cast<size_t>(piece.lane)][piece.index] += wait;
  if (ready.message == start)
    times_.message_wait_us += wait;
  else if (ready.slot == start)
    times_.slot_wait_us += wait;
  else
    times_.engine_wait_us += wait;
}

Result<Ran> Rank::run(const Piece& piece) {
  const std::optional<Readiness> readiness = ready(piece);
  if (!readiness) return Ran::kBlocked;
  account(piece, *readiness);
  const Step& step = *piece.step;
  const double bytes =
      static_cast<double>(piece.count) * static_cast<double>(size_of(call_->request.type));
  const double end = engine_.pass(readiness->start(), work_us(step, bytes));
  const size_t lane = static_cast<size_t>(piece.lane);
  lanes_[lane] = end;
  times_.busy_us = engine_.busy_us;
  times_.end_us = std::max(times_.end_us, end);
  if (step.recv_from != kNoPeer) {
    Queue& incoming = network_->queue(step.recv_from, rank_, piece.lane);
    incoming.arrivals.pop_front();
    incoming.slot_frees.push_back(end);
    network_->turns.emplace(end, step.recv_from, lane);
  }
  if (step.send_to != kNoPeer) {
    Queue& outgoing = network_->queue(rank_, step.send_to, piece.lane);
    outgoing.slot_frees.pop_front();
    const bool coded = step.send_wire == Wire::kCoded;
    const double arrival = network_->carry(
        rank_, step.send_to, coded ? bytes * network_->speeds.coded_share : bytes, end);
    outgoing.arrivals.push_back(arrival);
    network_->turns.emplace(arrival, step.send_to, lane);
  }
  return Ran::kDone;
}

void Rank::report_wait(Simulation& result) const {
  for (size_t lane = 0; lane < waits_.size(); ++lane)
    for (size_t step = 0; step < waits_[lane].size(); ++step) {
      if (waits_[lane][step] <= result.longest_wait_us) continue;
      result.longest_wait_us = waits_[lane][step];
      result.longest_wait_at = step_place(rank_, lane, step, call_->plan.lanes[lane].steps[step]);
    }
}

struct Runner {
  Runner(Network& network, const Call& call, int rank)
      : machine(network, call, rank), interpreter(call.plan, machine) {}
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  Rank machine;
  Interpreter<Rank> interpreter;
};
using Runners = std::vector<std::unique_ptr<Runner>>;

// Always the piece that can start first, so that pipes see messages in the order of time. A turn
// may come too early or be stale; it is checked when it is due.
Status run_by_time(Network& network, const Runners& runners) {
  for (size_t rank = 0; rank < runners.size(); ++rank)
    for (size_t lane = 0; lane < runners[rank]->interpreter.lane_count(); ++lane)
      network.turns.emplace(0, static_cast<int>(rank), lane);
  while (!network.turns.empty()) {
    const auto [when, rank, lane] = network.turns.top();
    network.turns.pop();
    auto& [machine, interpreter] = *runners[static_cast<size_t>(rank)];
    if (interpreter.lane_done(lane)) continue;
    const std::optional<Readiness> ready = machine.ready(interpreter.piece(lane));
    if (!ready) continue;
    if (ready->start() > when) {
      network.turns.emplace(ready->start(), rank, lane);
      continue;
    }
    STRAIT_ASSIGN(const uint64_t ran, interpreter.advance_lane(lane, 1));
    network.turns.emplace(when, rank, lane);
    STRAIT_CHECK(ran == 1, "a piece that is ready runs");
  }
  for (size_t rank = 0; rank < runners.size(); ++rank)
    if (!runners[rank]->interpreter.done())
      return error(Code::kInternalError, "rank {} waits for ever; verify the plans to see why",
                   rank);
  return {};
}

double busiest(const auto& pipes) {
  double most = 0;
  for (const auto& [name, pipe] : pipes) most = std::max(most, pipe.busy_us);
  return most;
}

}  // namespace

Result<Simulation> simulate(const std::vector<Call>& calls, const Topology& topology,
                            const Speeds& speeds, int slots) {
  for (const Call& call : calls) slots = std::max(slots, call.plan.slots_min);
  Network network{.topology = topology, .speeds = speeds, .slots = static_cast<size_t>(slots)};
  Runners runners;
  for (size_t rank = 0; rank < calls.size(); ++rank)
    runners.push_back(std::make_unique<Runner>(network, calls[rank], static_cast<int>(rank)));
  STRAIT_TRY(run_by_time(network, runners));
  Simulation result;
  for (const std::unique_ptr<Runner>& runner : runners) {
    result.ranks.push_back(runner->machine.times());
    result.total_us = std::max(result.total_us, runner->machine.times().end_us);
    runner->machine.report_wait(result);
  }
  result.inside_busy_us = busiest(network.inside);
  result.uplink_busy_us = busiest(network.uplinks);
  result.inside_bytes = network.inside_bytes;
  result.between_bytes = network.between_bytes;
  return result;
}

}  // namespace strait
