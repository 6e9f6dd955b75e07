#include "comm/communicator.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <thread>

#include "base/log.hpp"
#include "comm/hand_round.hpp"
#include "comm/to_self.hpp"
#include "plan/choice.hpp"
#include "plan/tag.hpp"
#include "plan/verifier.hpp"

namespace strait {
namespace {

constexpr int64_t kAbortWaitMs = 5'000;
constexpr int64_t kDayMs = 86'400'000;

int first_lane(const Request& request) {
  return is_point_to_point(request.collective) ? kPointToPointLane : 0;
}

int64_t wait_ms(const Config& config) {
  return config.timeout_ms > 0 ? config.timeout_ms : kDayMs;
}

codec::Options codec_options(const Config& config) {
  codec::Options options;
  options.checksum = config.checksum == "on";
  if (config.compress == "off") options.mode = codec::Mode::kRaw;
  if (config.compress == "dense") options.mode = codec::Mode::kDense;
  return options;
}

}  // namespace

Communicator::Communicator(Parts parts)
    : parts_(std::move(parts)),
      connections_(parts_.rank, parts_.routes,
                   {.slots = static_cast<uint32_t>(parts_.config.slots),
                    .slot_bytes = static_cast<size_t>(parts_.config.slot_bytes),
                    .first_lane = parts_.band * kLanesPerBand}),
      codec_(codec_options(parts_.config)) {
  if (!parts_.engine) return;
  gpu_ = std::make_unique<GpuSide>(std::move(parts_.engine), parts_.rank);
  gpu_->engine().serve(coding_of({}), traffic_, [this](const Status& why) { fail(why); });
}

Communicator::~Communicator() {
  if (rma_) rma_->close();
}

std::shared_ptr<Communicator> Communicator::make(Parts parts) {
  auto made = std::make_shared<Communicator>(std::move(parts));
  Station& station = *made->parts_.station;
  std::lock_guard lock(station.mutex);
  std::erase_if(station.users, [](const auto& user) { return user.expired(); });
  station.users.push_back(made);
  return made;
}

std::string Communicator::next_child(const std::string& purpose) {
  std::lock_guard lock(mutex_);
  return fmt::format("{} {}", purpose, children_[purpose]++);
}

Status Communicator::check_limits(const Request& request) const {
  if (!request.limits.insists) return Status();
  return choose(request, parts_.topology, parts_.config).status();
}

std::string Communicator::peek_child(const std::string& purpose) const {
  std::lock_guard lock(mutex_);
  const auto found = children_.find(purpose);
  return fmt::format("{} {}", purpose, found == children_.end() ? 0 : found->second);
}

uint64_t Communicator::take_ticket() {
  std::lock_guard lock(mutex_);
  return tickets_++;
}

Status Communicator::run(uint64_t ticket, const std::vector<Operation>& operations,
                         std::span<void* const> streams) {
  {
    std::unique_lock lock(mutex_);
    turn_changed_.wait(lock, [&] { return served_ == ticket; });
  }
  Status status = failure();
  if (status.ok()) {
    // Nothing may be thrown past the turn: it must pass to the next call, and a stream has no
    // caller.
    try {
      status = run_now(operations, streams);
    } catch (const std::bad_alloc&) {
      status = error(Code::kSystemError,
                     "out of memory for the work of a call; lower STRAIT_SLOT_BYTES or "
                     "STRAIT_CHUNK_BYTES, or run fewer ranks on this host");
    }
    if (!status.ok()) {
      fail(status);
      status = failure();
    }
  }
  std::lock_guard lock(mutex_);
  ++served_;
  turn_changed_.notify_all();
  return status;
}

Status Communicator::run_now(const std::vector<Operation>& operations,
                             std::span<void* const> streams) {
  if (plans_.forget_excess() && gpu_) gpu_->forget();
  if (gpu_) STRAIT_TRY(gpu_->check(operations, streams));
  STRAIT_TRY(prepare_plans(operations));
  if (gpu_) return gpu_->run(operations, plans_, &call_count_, streams);
  STRAIT_TRY(copy_to_self(operations));
  std::vector<Chain> chains = make_chains(operations);
  const std::function<Status()> stopped = [this] { return failure(); };
  return drive(chains, {.doorbell = parts_.station->doorbell.get(),
                        .timeout_ms = wait_ms(parts_.config),
                        .stopped = stopped});
}

bool Communicator::is_idle(const Operation& operation) const {
  return operation.request.count == 0 || is_to_self(operation.request, parts_.rank);
}

// Makes, opens and binds the plans that are not cached yet, all of the batch at once.
Status Communicator::prepare_plans(const std::vector<Operation>& operations) {
  struct Fresh {
    Request request;
    uint64_t number;
    Plan plan;
  };
  std::vector<Fresh> fresh;
  uint64_t number = call_count_;
  for (const Operation& operation : operations) {
    const Request& request = operation.request;
    const uint64_t own_number = number;
    if (!is_point_to_point(request.collective)) ++number;
    const auto same = [&](const Fresh& other) { return other.request == request; };
    if (is_idle(operation) || plans_.find(request) != nullptr || std::ranges::any_of(fresh, same))
      continue;
    STRAIT_ASSIGN(Plan plan, plan_for(request));
    fresh.push_back({.request = request, .number = own_number, .plan = std::move(plan)});
  }
  if (fresh.empty()) return Status();
  std::vector<Connections::Demand> demands;
  for (const Fresh& call : fresh)
    demands.push_back({.plan = &call.plan,
                       .first_lane = first_lane(call.request),
                       .tag = tag_of(call.request, call.number),
                       .name = describe(call.request, call.number)});
  // A peer opens its end when it makes the same call, which may be as late as in any other call.
  STRAIT_TRY(connections_.open(demands, Deadline::after_ms(wait_ms(parts_.config))));
  for (Fresh& call : fresh)
    plans_.insert(call.request, connections_.bind(std::move(call.plan), first_lane(call.request)));
  return Status();
}

Result<Plan> Communicator::plan_for(const Request& request) const {
  STRAIT_ASSIGN(const Choice choice, choose(request, parts_.topology, parts_.config));
  if (parts_.rank == 0)
    log_info("{}: {}, {} lanes, pieces of {}: {}", describe(request, call_count_),
             name_of(choice.algorithm), choice.lanes, choice.piece, choice.reason);
  if (parts_.config.verify == "on" && !is_point_to_point(request.collective))
    STRAIT_TRY(verify_collective(request, parts_.topology, choice));
  return make_plan(request, parts_.topology, choice, parts_.rank);
}

// Collectives form one chain and share its work memory; sends to one peer form a chain, and
// receives from it.
std::vector<Chain> Communicator::make_chains(const std::vector<Operation>& operations) {
  size_t shared_bytes = 0;
  size_t own_bytes = 0;
  for (const Operation& operation : operations) {
    if (is_idle(operation)) continue;
    const size_t bytes = work_bytes(*plans_.find(operation.request), operation.request.type);
    if (is_point_to_point(operation.request.collective))
      own_bytes += bytes;
    else
      shared_bytes = std::max(shared_bytes, bytes);
  }
  if (work_.size() < shared_bytes + own_bytes) work_.resize(shared_bytes + own_bytes);
  work_bytes_.store(work_.size(), std::memory_order_relaxed);

  std::byte* own = work_.data() + shared_bytes;
  std::map<std::pair<Collective, int>, Chain> by_peer;
  Chain collectives;
  for (const Operation& operation : operations) {
    const Request& request = operation.request;
    if (is_idle(operation)) {
      // Numbers count collectives, so that all ranks agree on them whatever was skipped.
      if (!is_point_to_point(request.collective)) ++call_count_;
    } else if (is_point_to_point(request.collective)) {
      by_peer[{request.collective, request.root}].executions.push_back(
          make_execution(operation, own));
      own += work_bytes(*plans_.find(request), request.type);
    } else {
      collectives.executions.push_back(make_execution(operation, work_.data()));
      ++call_count_;
    }
  }
  std::vector<Chain> chains;
  if (!collectives.executions.empty()) chains.push_back(std::move(collectives));
  for (auto& [key, chain] : by_peer) chains.push_back(std::move(chain));
  return chains;
}

std::unique_ptr<HostExecution> Communicator::make_execution(const Operation& operation,
                                                            std::byte* work) {
  HostCall call{.request = operation.request,
                .number = call_count_,
                .arithmetic = operation.arithmetic,
                .memory = {.input = static_cast<const std::byte*>(operation.input),
                           .output = static_cast<std::byte*>(operation.output),
                           .work = work},
                .coding = coding_of(operation.wires)};
  return std::make_unique<HostExecution>(*plans_.find(operation.request), std::move(call),
                                         traffic_);
}

Coding Communicator::coding_of(const WireWishes& wishes) const {
  codec::Options options = codec_;
  if (wishes.checksum != ChecksumWish::kNone)
    options.checksum = wishes.checksum == ChecksumWish::kOn;
  if (wishes.compress == CompressWish::kOff) options.mode = codec::Mode::kRaw;
  if (wishes.compress == CompressWish::kDense) options.mode = codec::Mode::kDense;
  if (wishes.compress == CompressWish::kFast || wishes.compress == CompressWish::kAuto)
    options.mode = codec::Options{}.mode;
  return {.options = options,
          .chooses_mode = wishes.compress == CompressWish::kNone
                              ? parts_.config.compress == "auto"
                              : wishes.compress == CompressWish::kAuto};
}

Status Communicator::copy_to_self(const std::vector<Operation>& operations) const {
  STRAIT_ASSIGN(const std::vector<SelfCopy> copies, copies_to_self(operations, parts_.rank));
  for (const SelfCopy& copy : copies) std::memmove(copy.target, copy.source, copy.bytes);
  return Status();
}

Status Communicator::drain(Deadline deadline) {
  {
    std::unique_lock lock(mutex_);
    const auto until =
        std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline.at_ns()));
    if (!turn_changed_.wait_until(lock, until, [&] { return served_ == tickets_; }))
      return error(Code::kTimeout, "rank {}: {} calls are still running", parts_.rank,
                   tickets_ - served_);
  }
  if (gpu_) STRAIT_TRY(gpu_->engine().drain(deadline));
  while (true) {
    const uint32_t seen = parts_.station->doorbell->read();
    const auto one_sided = rma();
    const bool flushed = connections_.flushed() && (!one_sided || one_sided->idle());
    if (!failure().ok() || flushed) return Status();
    // A link rings when a slot leaves; the turn bounds the wait where a wrapper does not.
    const int64_t turn_ns = std::min<int64_t>(deadline.left_ns(), 1'000'000);
    if (!parts_.station->doorbell->wait(seen, Deadline::after_ns(turn_ns)) && deadline.passed())
      return error(Code::kTimeout, "rank {}: data already sent could not leave this process",
                   parts_.rank);
  }
}

Status Communicator::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

// True when it is the first failure.
bool Communicator::stop(const Status& why) {
  const std::string& name = parts_.config.comm_name;
  const Status told = name.empty() ? why : why.at("communicator " + name);
  {
    std::lock_guard lock(mutex_);
    if (!failure_.ok()) return false;
    failure_ = told;
  }
  if (gpu_) gpu_->engine().stop();
  connections_.abort(told);
  if (const auto one_sided = rma()) one_sided->stop(told);
  parts_.station->doorbell->ring();
  return true;
}

void Communicator::fail(const Status& why) {
  if (stop(why)) log_warn("rank {}: {}", parts_.rank, failure().message());
}

void Communicator::end_work(const Status& why) {
  if (stop(why)) log_info("rank {}: {}", parts_.rank, failure().message());
  std::unique_lock lock(mutex_);
  turn_changed_.wait_for(lock, std::chrono::milliseconds(kAbortWaitMs),
                         [&] { return served_ == tickets_; });
}

void Communicator::abort() {
  const Status why = error(Code::kInvalidUsage, "the communicator was aborted");
  std::vector<std::shared_ptr<Communicator>> family;
  {
    std::lock_guard lock(parts_.station->mutex);
    for (const auto& user : parts_.station->users)
      if (auto member = user.lock()) family.push_back(std::move(member));
  }
  for (const auto& member : family) member->stop(why);
  for (const auto& member : family) member->end_work(why);
}

Status Communicator::open_rma() {
  if (rma() != nullptr || rank_count() == 0) return Status();
  const Config& config = parts_.config;
  Rma::Terms terms{.rank = parts_.rank,
                   .routes = parts_.routes,
                   .lane = parts_.band * kLanesPerBand + kRmaLane,
                   .slots = static_cast<uint32_t>(std::max<int64_t>(config.slots, 2)),
                   .slot_bytes = static_cast<size_t>(config.slot_bytes),
                   .group = derive_secret(parts_.kin.secret, "one-sided calls"),
                   .contexts = static_cast<int>(std::max<int64_t>(config.rma_contexts, 1)),
                   .signals = static_cast<int>(std::max<int64_t>(config.rma_signals, 1)),
                   .timeout_ms = wait_ms(config),
                   .doorbell = parts_.station->doorbell.get(),
                   .stopped = [this] { return failure(); },
                   .fail = [this](const Status& why) { fail(why); }};
  STRAIT_ASSIGN(auto made, Rma::open(std::move(terms), Deadline::after_ms(wait_ms(config))));
  std::lock_guard lock(mutex_);
  rma_ = std::move(made);
  return Status();
}

std::shared_ptr<Rma> Communicator::rma() const {
  std::lock_guard lock(mutex_);
  return rma_;
}

Status Communicator::run(const std::vector<RmaCall>& calls) {
  const auto one_sided = rma();
  STRAIT_CHECK(one_sided != nullptr, "one-sided calls are checked before they run");
  Status status = failure();
  if (status.ok()) status = one_sided->run(calls);
  one_sided->end();
  if (status.ok()) return status;
  fail(status);
  return failure();
}

Status Communicator::release_memory() {
  STRAIT_TRY(hand_round(*this, std::byte{0}).status());
  STRAIT_TRY(drain(Deadline::after_ms(wait_ms(parts_.config))));
  plans_.forget_all();
  connections_.close();
  work_ = {};
  work_bytes_.store(0, std::memory_order_relaxed);
  return Status();
}

uint64_t Communicator::releasable_bytes() const {
  return connections_.memory_bytes() + work_bytes_.load(std::memory_order_relaxed);
}

uint64_t Communicator::kept_bytes() const {
  const auto one_sided = rma();
  return parts_.station->doorbell_memory.bytes() + (one_sided ? one_sided->memory_bytes() : 0);
}

bool Communicator::is_quiet() const {
  std::lock_guard lock(mutex_);
  return served_ == tickets_;
}

TrafficStats Communicator::stats() const {
  return {.plain_bytes =
              traffic_.plain_bytes.load(std::memory_order_relaxed) - traffic_base_.plain_bytes,
          .coded_value_bytes = traffic_.coded_value_bytes.load(std::memory_order_relaxed) -
                               traffic_base_.coded_value_bytes,
          .coded_wire_bytes = traffic_.coded_wire_bytes.load(std::memory_order_relaxed) -
                              traffic_base_.coded_wire_bytes};
}

void Communicator::reset_stats() {
  traffic_base_ = {};
  traffic_base_ = stats();
}

}  // namespace strait
