#include "comm/connections.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "codec/codec.hpp"
#include "plan/tag.hpp"

namespace strait {
namespace {

constexpr int64_t kAcceptTurnNs = 100'000'000;
constexpr auto kLookEvery = std::chrono::microseconds(20);
// How often a rank that has not opened its link yet is asked whether it is still there.
constexpr int64_t kReachEveryNs = 1'000'000'000;
// What the most demanding plan needs. A link outlives the plan that opens it and serves all later
// ones, so it never has fewer.
constexpr uint32_t kSlotsMin = 2;
// Two cores, four ranks: messages of 32 KiB take 0.5 to 0.8 of the time they take through slots,
// and those of 16 KiB as much between threads and up to 1.2 between processes, who wake each other.
constexpr size_t kLendsFrom = 32 << 10;
// A reader that is at work when the link fails is done in a moment, unless its process is stopped.
constexpr int64_t kReadersWaitMs = 5'000;

}  // namespace

size_t lends_from(std::string_view zero_copy) {
  if (zero_copy == "off") return SIZE_MAX;
  return zero_copy == "on" ? 1 : kLendsFrom;
}

Connections::Connections(int rank, std::vector<PeerRoute> routes, Shape shape)
    : rank_(rank), routes_(std::move(routes)), shape_(shape) {}

Status Connections::open(const std::vector<Demand>& demands, Deadline deadline) {
  const auto for_each_step = [&](auto&& open_one) {
    for (const Demand& demand : demands)
      for (size_t i = 0; i < demand.plan->lanes.size(); ++i)
        for (const Step& step : demand.plan->lanes[i].steps)
          if (step.count > 0)
            STRAIT_TRY(open_one(demand, step, demand.first_lane + static_cast<int>(i)));
    return Status();
  };
  used_.clear();
  STRAIT_TRY(for_each_step([&](const Demand& demand, const Step& step, int lane) {
    if (step.send_to == kNoPeer) return Status();
    used_.insert(Key(lane, step.send_to));
    return open_sender(demand, Key(lane, step.send_to), deadline);
  }));
  return for_each_step([&](const Demand& demand, const Step& step, int lane) {
    if (step.recv_from == kNoPeer) return Status();
    return open_receiver(demand, Key(lane, step.recv_from), deadline);
  });
}

LinkSpec Connections::spec(const Plan& plan, int source, int destination, int lane) const {
  STRAIT_CHECK(plan.slots_min <= static_cast<int>(kSlotsMin), "links have slots for every plan");
  return {.source = source,
          .destination = destination,
          .lane = shape_.first_lane + lane,
          .slots = std::max(shape_.slots, kSlotsMin),
          .slot_bytes = shape_.slot_bytes + codec::kChunkOverhead,
          .on_gpu = shape_.on_gpu};
}

Status Connections::open_sender(const Demand& demand, const Key& key, Deadline deadline) {
  if (senders_.contains(key)) return Status();
  const auto [lane, peer] = key;
  STRAIT_TRY(aborted());
  auto link = routes_[peer].transport->connect(
      routes_[peer].address, spec(*demand.plan, own_rank(), routes_[peer].rank, lane), deadline);
  if (!link.ok()) return link.status();
  auto sender = std::make_unique<Sender>();
  sender->link = std::move(*link);
  sender->port.link = sender->link.get();
  if (const auto slot = sender->link->send_slot(); !slot.empty()) {
    if (!sender->link->places().on_gpu) slot.front() = std::byte{0};
    sender->link->commit(1, demand.tag);
  }
  sender->port.rank = rank_;
  sender->port.peer = peer;
  sender->port.tells = lane == 0;
  sender->port.lends_from = shape_.lends_from;
  std::lock_guard lock(mutex_);
  if (!aborted_.ok()) sender->link->abort(aborted_);
  senders_.emplace(key, std::move(sender));
  return Status();
}

Status Connections::open_receiver(const Demand& demand, const Key& key, Deadline deadline) {
  if (receivers_.contains(key)) return Status();
  const auto [lane, peer] = key;
  const int64_t begin_ns = now_ns();
  int64_t next_reach_ns = begin_ns + kReachEveryNs;
  Status gone;
  while (true) {
    // In short turns, so that an abort from another thread ends the wait.
    STRAIT_TRY(aborted());
    STRAIT_TRY(failure_of_used());
    const int64_t turn_ns = std::min<int64_t>(deadline.left_ns(), kAcceptTurnNs);
    auto link = routes_[peer].transport->accept(
        routes_[peer].address, spec(*demand.plan, routes_[peer].rank, own_rank(), lane),
        Deadline::after_ns(turn_ns));
    if (!link.ok()) {
      if (link.status().code() != Code::kTimeout) {
        // Who gave up because calls differ may have left since: its reason is on the link to it.
        STRAIT_TRY(failure_of_used());
        return link.status();
      }
      STRAIT_TRY(gone);
      if (now_ns() >= next_reach_ns) {
        // Looks once more before it is believed: the rank may have sent all it had and left.
        gone = still_there(peer);
        next_reach_ns = now_ns() + kReachEveryNs;
      }
      if (!deadline.passed()) continue;
      return error(Code::kTimeout,
                   "rank {} waited {} ms for rank {} to open lane {}: look at that rank, or raise "
                   "STRAIT_TIMEOUT_MS",
                   rank_, (now_ns() - begin_ns) / 1'000'000, peer, lane);
    }
    RecvLink& opened = **link;
    {
      std::lock_guard lock(mutex_);
      if (!aborted_.ok()) opened.abort(aborted_);
      receivers_.emplace(key, std::move(*link));
    }
    return check_call(demand, lane, peer, opened, deadline);
  }
}

// The first message is on its way since before the link could be accepted.
Status Connections::check_call(const Demand& demand, int lane, int peer, RecvLink& link,
                               Deadline deadline) const {
  Message message = link.recv_slot();
  while (message.bytes.empty()) {
    STRAIT_TRY(aborted());
    const Status status = link.status();
    message = link.recv_slot();  // it may have come before the end
    if (!message.bytes.empty()) break;
    STRAIT_TRY(status.at(demand.name));
    if (deadline.passed())
      return error(Code::kTimeout, "{}: rank {} opened lane {} and sent nothing", demand.name, peer,
                   lane);
    std::this_thread::sleep_for(kLookEvery);
  }
  const uint32_t tag = message.tag;
  link.release();
  // Messages pair by order; their first ones may differ where some have no bytes.
  if (lane >= kPointToPointLane || tag == demand.tag) return Status();
  return error(Code::kInvalidUsage,
               "{}: rank {} calls {}; all ranks must make the same calls in the same order, with "
               "the same count, type, operation and root",
               demand.name, peer, describe_tag(tag));
}

// A peer that found out that calls differ has given up the link that it was sent.
Status Connections::failure_of_used() const {
  for (const Key& key : used_) STRAIT_TRY(senders_.at(key)->link->status());
  return Status();
}

// No link tells of the end of a rank that has none yet; one that only does not answer may be late.
Status Connections::still_there(int peer) const {
  const PeerRoute& route = routes_[peer];
  const Status status =
      route.transport->reach(route.rank, route.address, Deadline::after_ns(kReachEveryNs));
  return status.code() == Code::kTimeout ? Status() : status;
}

Status Connections::aborted() const {
  std::lock_guard lock(mutex_);
  return aborted_;
}

std::unique_ptr<BoundPlan> Connections::bind(Plan plan, int first_lane, const Loans& loans) {
  auto bound = std::make_unique<BoundPlan>();
  bound->plan = std::move(plan);
  const bool slots_to_spare = shape_.slots > static_cast<uint32_t>(bound->plan.slots_min);
  for (size_t i = 0; i < bound->plan.lanes.size(); ++i) {
    const int lane = first_lane + static_cast<int>(i);
    std::vector<StepPorts>& ports = bound->ports.emplace_back();
    const std::vector<SumRole> sums = find_sums(bound->plan.lanes[i]);
    std::set<const SendPort*> lenders;
    for (size_t index = 0; index < sums.size(); ++index) {
      const Step& step = bound->plan.lanes[i].steps[index];
      StepPorts& port = ports.emplace_back();
      if (step.count == 0) continue;
      port.lane = lane;
      if (slots_to_spare) port.sum = sums[index];
      if (step.send_to != kNoPeer) port.send = &senders_.at(Key(lane, step.send_to))->port;
      if (step.recv_from != kNoPeer) port.recv = receivers_.at(Key(lane, step.recv_from)).get();
      port.loan = loans[i][index];
      if (port.loan != Loan::kNever) lenders.insert(port.send);
    }
    bound->loans_max.push_back(lenders.size() * std::max(shape_.slots, kSlotsMin));
  }
  place_staging(*bound);
  return bound;
}

void Connections::abort(const Status& why) {
  std::lock_guard lock(mutex_);
  if (aborted_.ok()) aborted_ = why;
  for (auto& [key, sender] : senders_) sender->link->abort(why);
  for (auto& [key, receiver] : receivers_) receiver->abort(why);
}

void Connections::end_loans(const Status& why) {
  abort(why);
  const Deadline deadline = Deadline::after_ms(kReadersWaitMs);
  const auto is_read = [](const auto& entry) { return entry.second->link->is_read(); };
  while (std::ranges::any_of(senders_, is_read) && !deadline.passed())
    std::this_thread::sleep_for(kLookEvery);
}

void Connections::close() {
  std::lock_guard lock(mutex_);
  senders_.clear();
  receivers_.clear();
}

uint64_t Connections::memory_bytes() const {
  std::lock_guard lock(mutex_);
  return (senders_.size() + receivers_.size()) * std::max(shape_.slots, kSlotsMin) *
         (shape_.slot_bytes + codec::kChunkOverhead);
}

bool Connections::flushed() const {
  std::lock_guard lock(mutex_);
  return std::ranges::all_of(senders_,
                             [](const auto& entry) { return entry.second->link->flushed(); });
}

CodedBytes Connections::coded_to(int peer) const {
  std::lock_guard lock(mutex_);
  CodedBytes sum;
  for (const auto& [key, sender] : senders_) {
    if (key.second != peer) continue;
    sum.value_bytes += sender->port.coded_value_bytes.load(std::memory_order_relaxed);
    sum.wire_bytes += sender->port.coded_wire_bytes.load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace strait
