#include "comm/communicator.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <thread>

#include "base/log.hpp"
#include "comm/to_self.hpp"
#include "plan/tag.hpp"
#include "plan/verifier.hpp"

namespace strait {
namespace {

int first_lane(const Request& request) {
  return is_point_to_point(request.collective) ? kPointToPointLane : 0;
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
                    .first_lane = parts_.band * kLanesPerBand,
                    .lends_from = lends_from(parts_.config.zero_copy),
                    .on_gpu = parts_.engine != nullptr}),
      codec_(codec_options(parts_.config)) {
  if (!parts_.engine) return;
  gpu_ = std::make_unique<GpuSide>(std::move(parts_.engine), parts_.rank, rank_count(),
                                   [this](const WireWishes& wishes) { return coding_of(wishes); });
  gpu_->engine().serve(coding_of({}), traffic_, [this](const Status& why) { fail(why); });
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

Status Communicator::check_places(const Operation& operation, void* stream) {
  Operation used = operation;  // NCCL ignores the other buffers, and programs leave anything there
  if (input_count(used.request, parts_.rank, rank_count()) == 0) used.input = nullptr;
  if (output_count(used.request, parts_.rank, rank_count()) == 0) used.output = nullptr;
  const Status status = gpu_ ? gpu_->check(used, stream) : check_host(used, parts_.rank);
  if (status.code() == Code::kCudaError) fail(status);  // no later call will fare better
  return status;
}

Status Communicator::check_one_sided(const RmaCall& call, void* stream) {
  if (!gpu_) return Status();
  const Status status = gpu_->check_one_sided(call.bytes > 0 ? call.source : nullptr, stream);
  if (status.code() == Code::kCudaError) fail(status);
  return status;
}

Status Communicator::run(uint64_t ticket, const std::vector<Operation>& operations,
                         std::span<void* const> streams) {
  // What was not prepared is not launched either.
  [[maybe_unused]] const Status prepared = prepare(ticket, operations);
  return launch(operations, streams);
}

Status Communicator::prepare(uint64_t ticket, const std::vector<Operation>& operations) {
  {
    std::unique_lock lock(mutex_);
    turn_changed_.wait(lock, [&] { return served_ == ticket; });
  }
  return attempt([&]() -> Status {
    if (plans_.forget_excess() && gpu_) gpu_->forget();
    STRAIT_TRY(prepare_plans(operations));
    return gpu_ ? gpu_->prepare(operations, plans_) : Status();
  });
}

Status Communicator::launch(const std::vector<Operation>& operations,
                            std::span<void* const> streams) {
  const Status status = attempt([&] {
    return gpu_ ? gpu_->run(operations, plans_, &call_count_, streams) : drive_on_host(operations);
  });
  std::lock_guard lock(mutex_);
  ++served_;
  turn_changed_.notify_all();
  return status;
}

// Nothing may be thrown past the turn: it must pass to the next call, and a stream has no caller.
Status Communicator::attempt(const std::function<Status()>& work) {
  Status status = failure();
  if (!status.ok()) return status;
  try {
    status = work();
  } catch (const std::bad_alloc&) {
    status = error(Code::kSystemError,
                   "out of memory for the work of a call; lower STRAIT_SLOT_BYTES or "
                   "STRAIT_CHUNK_BYTES, or run fewer ranks on this host");
  }
  if (status.ok()) return status;
  fail(status);
  connections_.end_loans(failure());
  return failure();
}

Status Communicator::drive_on_host(const std::vector<Operation>& operations) {
  STRAIT_TRY(copy_to_self(operations));
  std::vector<Chain> chains = make_chains(operations);
  const std::function<Status()> stopped = [this] { return failure(); };
  return drive(
      chains,
      {.doorbell = parts_.station->doorbell.get(), .timeout_ms = wait_ms(), .stopped = stopped});
}

bool Communicator::is_prepared(const std::vector<Operation>& operations) const {
  return std::ranges::all_of(operations, [this](const Operation& operation) {
    return is_idle(operation) || plans_.find(operation.request) != nullptr;
  });
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
    Loans loans;
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
    STRAIT_ASSIGN(const Choice choice, choose(request, parts_.topology, parts_.config));
    STRAIT_ASSIGN(Plan plan, plan_for(request, choice));
    Loans loans = find_loans(request, plan,
                             {.overwrites = may_overwrite_loans(choice.algorithm),
                              .slots = static_cast<int>(parts_.config.slots)});
    fresh.push_back({request, own_number, std::move(plan), std::move(loans)});
  }
  if (fresh.empty()) return Status();
  std::vector<Connections::Demand> demands;
  for (const Fresh& call : fresh)
    demands.push_back({.plan = &call.plan,
                       .first_lane = first_lane(call.request),
                       .tag = tag_of(call.request, call.number),
                       .name = describe(call.request, call.number)});
  // A peer opens its end when it makes the same call, which may be as late as in any other call.
  STRAIT_TRY(connections_.open(demands, Deadline::after_ms(wait_ms())));
  for (Fresh& call : fresh)
    plans_.insert(call.request,
                  connections_.bind(std::move(call.plan), first_lane(call.request), call.loans));
  return Status();
}

Result<Plan> Communicator::plan_for(const Request& request, const Choice& choice) const {
  if (parts_.rank == 0)
    log_info(LogPart::kTuning, "{}: {}, {} lanes, pieces of {}: {}", describe(request, call_count_),
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
                   .zero_copy = config.zero_copy != "off",
                   .timeout_ms = wait_ms(),
                   .doorbell = parts_.station->doorbell.get(),
                   .gpu = nullptr,
                   .stopped = [this] { return failure(); },
                   .fail = [this](const Status& why) { fail(why); }};
  const Deadline deadline = Deadline::after_ms(wait_ms());
  if (gpu_) {
    STRAIT_ASSIGN(terms.gpu, open_gpu_rma(terms, deadline));
  }
  STRAIT_ASSIGN(auto made, Rma::open(std::move(terms), deadline));
  std::lock_guard lock(mutex_);
  rma_ = std::move(made);
  return Status();
}

Result<std::shared_ptr<GpuOneSided>> Communicator::open_gpu_rma(const Rma::Terms& terms,
                                                                Deadline deadline) {
  return GpuOneSided::open(
      gpu_->engine(),
      {.rank = parts_.rank,
       .shape = {.rank_count = rank_count(), .contexts = terms.contexts, .signals = terms.signals},
       .slots = terms.slots,
       .piece_bytes = terms.slot_bytes,
       .timeout_ms = terms.timeout_ms,
       .wake = [doorbell = terms.doorbell] { doorbell->ring(); }},
      deadline, terms.stopped);
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

Status Communicator::queue(const std::vector<RmaCall>& calls, RmaPart part,
                           std::span<void* const> streams) {
  Status status = failure();
  if (status.ok())
    status = gpu_->queue_together(streams, [&](cuda::StreamHandle stream) {
      return part == RmaPart::kPuts ? rma()->queue_puts(calls, stream)
                                    : rma()->queue_waits(calls, stream);
    });
  if (part == RmaPart::kWaits) rma()->end();
  if (status.ok()) return status;
  fail(status);
  return failure();
}

TrafficStats Communicator::stats() const {
  return {
      .plain_bytes =
          traffic_.plain_bytes.load(std::memory_order_relaxed) - traffic_base_.plain_bytes,
      .lent_bytes = traffic_.lent_bytes.load(std::memory_order_relaxed) - traffic_base_.lent_bytes,
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
