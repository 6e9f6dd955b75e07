// GpuEngine: plans on the device, the ports of their links, and scratch.

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "exec/cuda/engine.hpp"
#include "exec/cuda/message_blocks.hpp"
#include "plan/tag.hpp"

namespace strait {
namespace {

constexpr uint32_t kPortsPerSlab = 64;

constexpr size_t kBatchesMax = 256;

const void* name_of(const StepPorts& ports, Direction direction) {
  if (direction == Direction::kSend) return ports.send;
  return ports.recv;
}

bool has_coded_edges(const Plan& plan) {
  for (const Lane& lane : plan.lanes)
    for (const Step& step : lane.steps)
      if (step.count > 0 && ((step.send_to != kNoPeer && step.send_wire == Wire::kCoded) ||
                             (step.recv_from != kNoPeer && step.recv_wire == Wire::kCoded)))
        return true;
  return false;
}

uint64_t messages_of(const Step& step, uint64_t piece) {
  return (step.count + piece - 1) / piece;
}

// Each block has a part of its own, which its lanes use one after another. Values pass through
// none: they are encoded from where they lie.
void give_staging(MessageBlocks& arranged, uint64_t coder_bytes) {
  for (uint32_t block = 0; block < arranged.blocks; ++block)
    for (uint32_t at = block; at != kNoLane; at = arranged.lanes[at].next) {
      DeviceLane& lane = arranged.lanes[at];
      if (lane.staging != kNoStaging) lane.staging = block * coder_bytes;
      lane.staging_stride = 0;
    }
}

}  // namespace

// First what this rank receives by, which waits for nobody, then what it sends by.
Result<GpuEngine::Lowered> GpuEngine::lower_with_ports(const BoundPlan& bound, DataType type) {
  const Plan& plan = bound.plan;
  std::map<std::tuple<Direction, size_t, int>, DevicePort*> ports;
  Lowered lowered;
  for (const Direction direction : {Direction::kReceive, Direction::kSend})
    for (size_t lane = 0; lane < plan.lanes.size(); ++lane)
      for (size_t index = 0; index < plan.lanes[lane].steps.size(); ++index) {
        const Step& step = plan.lanes[lane].steps[index];
        const StepPorts& held = bound.ports[lane][index];
        if (name_of(held, direction) == nullptr) continue;
        const bool sends = direction == Direction::kSend;
        const int peer = sends ? step.send_to : step.recv_from;
        const Wire wire = sends ? step.send_wire : step.recv_wire;
        STRAIT_ASSIGN(DevicePort * port, port_of(held, direction, wire == Wire::kCoded, peer));
        ports[{direction, lane, peer}] = port;
        if (sends && wire == Wire::kPlain) lowered.plain_bytes += step.count * size_of(type);
        Proxy::Duty* duty = bound_.at(name_of(held, direction)).second;
        if (duty != nullptr)
          lowered.loads.push_back({duty, messages_of(step, plan.lanes[lane].piece)});
      }
  lowered.plan = lower(plan, type, [&](Direction direction, size_t lane, int peer) {
    return ports.at({direction, lane, peer});
  });
  return lowered;
}

Result<std::shared_ptr<const GpuEngine::GpuPlan>> GpuEngine::bind(const BoundPlan& bound,
                                                                  DataType type) {
  STRAIT_ASSIGN(Lowered lowered, lower_with_ports(bound, type));
  STRAIT_ASSIGN(std::shared_ptr<GpuPlan> plan, upload(lowered.plan, std::move(lowered.loads)));
  plan->plain_bytes = lowered.plain_bytes;
  plan->coded = is_float(type) && has_coded_edges(bound.plan);
  plan->kernel = plan->coded ? &kernels_.coded(type) : &kernels_.plain(type);
  plan->staging_bytes = plan->coded ? lowered.plan.staging_bytes : 0;
  plan->scratch_bytes = bound.plan.scratch_count * accumulator_size(type);
  return std::shared_ptr<const GpuPlan>(std::move(plan));
}

// By what this rank receives, which waits for nobody: a peer that sends waits for it.
Status GpuEngine::open_receivers(const BoundPlan& bound) {
  for (size_t lane = 0; lane < bound.plan.lanes.size(); ++lane)
    for (size_t index = 0; index < bound.plan.lanes[lane].steps.size(); ++index) {
      const Step& step = bound.plan.lanes[lane].steps[index];
      const StepPorts& held = bound.ports[lane][index];
      if (held.recv == nullptr) continue;
      const bool coded = step.recv_wire == Wire::kCoded;
      STRAIT_TRY(port_of(held, Direction::kReceive, coded, step.recv_from).status());
    }
  return Status();
}

// One kernel of bytes carries all types at once: addresses stand where offsets do.
Result<std::shared_ptr<const GpuEngine::GpuPlan>> GpuEngine::bind(
    const std::vector<PointToPoint>& operations) {
  std::vector<MessageLane> messages;
  LoweredPlan all;
  std::vector<Proxy::Load> loads;
  uint64_t plain_bytes = 0, coder_bytes = 0;
  bool codes = false;
  for (const PointToPoint& operation : operations) STRAIT_TRY(open_receivers(*operation.bound));
  for (const PointToPoint& operation : operations) {
    const DataType type = operation.request.type;
    STRAIT_ASSIGN(Lowered lowered, lower_with_ports(*operation.bound, type));
    loads.insert(loads.end(), lowered.loads.begin(), lowered.loads.end());
    plain_bytes += lowered.plain_bytes;
    const uint64_t element_bytes = size_of(type);
    const auto first_step = static_cast<uint32_t>(all.steps.size());
    for (DeviceStep step : lowered.plan.steps) {
      step.count *= element_bytes;
      for (DevicePlace* place : {&step.source, &step.target})
        place->offset = place->offset * element_bytes + cuda::device_pointer(operation.address);
      all.steps.push_back(step);
    }
    for (DeviceLane lane : lowered.plan.lanes) {
      const DeviceStep& step = all.steps[first_step + lane.first_step];
      const bool sends = step.send_port != nullptr;
      const DevicePort* port = sends ? step.send_port : step.recv_port;
      if (port == nullptr) continue;  // nothing for this lane
      lane.piece *= element_bytes;
      lane.first_step += first_step;
      lane.tag = tag_of(operation.request, 0);
      const bool coded = sends ? step.send_coded : step.recv_coded;
      // What is received may be coded whatever it is called here.
      codes = codes || (coded && (is_float(type) || !sends));
      if (coded && sends && is_float(type))
        coder_bytes = std::max(coder_bytes, coder_staging_bytes(type));
      messages.push_back({lane, port, sends, coded, operation.distance});
    }
  }
  MessageBlocks arranged =
      arrange(messages, {.lanes_max = terms_.lanes_max, .blocks_max = terms_.blocks_max});
  give_staging(arranged, coder_bytes);
  all.lanes = std::move(arranged.lanes);
  STRAIT_ASSIGN(std::shared_ptr<GpuPlan> plan, upload(all, std::move(loads)));
  plan->coded = codes;
  plan->kernel = plan->coded ? &kernels_.coded_messages() : &kernels_.plain(DataType::kUint8);
  plan->staging_bytes = arranged.blocks * coder_bytes;
  plan->blocks = arranged.blocks;
  plan->plain_bytes = plain_bytes;
  return std::shared_ptr<const GpuPlan>(std::move(plan));
}

Result<std::shared_ptr<const GpuEngine::GpuPlan>> GpuEngine::batch_of(
    const std::vector<PointToPoint>& operations) {
  BatchName name;
  for (const PointToPoint& operation : operations)
    name.emplace_back(operation.request.collective, operation.request.type, operation.request.count,
                      operation.request.root, operation.address);
  if (const auto found = batches_.find(name); found != batches_.end()) return found->second;
  if (batches_.size() >= kBatchesMax) {
    if (idle()) kept_.clear();
    for (auto& [other, plan] : batches_) keep(std::move(plan));
    batches_.clear();
  }
  STRAIT_ASSIGN(std::shared_ptr<const GpuPlan> plan, bind(operations));
  batches_[name] = plan;
  return plan;
}

Status GpuEngine::prepare(const std::vector<PointToPoint>& operations) {
  return operations.empty() ? Status() : batch_of(operations).status();
}

Status GpuEngine::launch(const std::vector<PointToPoint>& operations, cuda::StreamHandle stream) {
  if (operations.empty()) return Status();
  STRAIT_ASSIGN(std::shared_ptr<const GpuPlan> plan, batch_of(operations));
  DeviceCall call{};
  call.arithmetic.divisor = 1;
  call.coding = lower(coding_);
  return start(std::move(plan), call, stream);
}

Result<std::shared_ptr<GpuEngine::GpuPlan>> GpuEngine::upload(const LoweredPlan& lowered,
                                                              std::vector<Proxy::Load> loads) {
  auto plan = std::make_shared<GpuPlan>();
  plan->loads = std::move(loads);
  plan->blocks = static_cast<uint32_t>(lowered.lanes.size());
  const size_t lane_bytes = lowered.lanes.size() * sizeof(DeviceLane);
  const size_t step_bytes = lowered.steps.size() * sizeof(DeviceStep);
  STRAIT_ASSIGN(plan->image, cuda::DeviceMemory::allocate(driver_, context_.get(),
                                                          lane_bytes + step_bytes, "a plan"));
  std::vector<std::byte> image(lane_bytes + step_bytes);
  std::memcpy(image.data(), lowered.lanes.data(), lane_bytes);
  std::memcpy(image.data() + lane_bytes, lowered.steps.data(), step_bytes);
  STRAIT_TRY(write(plan->image.pointer(), image.data(), image.size()));
  auto* base = static_cast<unsigned char*>(plan->image.data());
  plan->lanes = reinterpret_cast<const DeviceLane*>(base);
  plan->steps = reinterpret_cast<const DeviceStep*>(base + lane_bytes);
  return plan;
}

Result<DevicePort*> GpuEngine::port_of(const StepPorts& ports, Direction direction, bool coded,
                                       int peer) {
  const auto found = bound_.find(name_of(ports, direction));
  if (found != bound_.end()) return found->second.first;
  if (!coded && peers_ && peers_->reaches(peer)) return reach(ports, direction, peer);
  return stage(ports, direction, coded, peer);
}

// Over memory that both GPUs reach.
Result<DevicePort*> GpuEngine::reach(const StepPorts& ports, Direction direction, int peer) {
  const bool sends = direction == Direction::kSend;
  DevicePort port;
  if (sends) {
    // An abort here or a failure there ends the wait.
    const auto stopped = [&]() -> Status {
      if (stopped_.load()) return error(Code::kInvalidUsage, "the communicator was aborted");
      return ports.send->link->status();
    };
    STRAIT_ASSIGN(port, peers_->open_sender(peer, ports.lane, Deadline::after_ms(terms_.timeout_ms),
                                            stopped));
  } else {
    STRAIT_ASSIGN(port, peers_->open_receiver(peer, ports.lane));
  }
  STRAIT_ASSIGN(DevicePort * made, add_port(port));
  bound_[name_of(ports, direction)] = {made, nullptr};
  std::lock_guard lock(watched_mutex_);
  const auto watch = [this](const auto* link) {
    watched_.push_back({.status = [link] { return link->status(); },
                        .peer_gave_up = [link] { return link->peer_gave_up(); }});
  };
  if (sends)
    watch(ports.send->link);
  else
    watch(ports.recv);
  return made;
}

// By the proxy: over the link's own slots, or over slots beside them.
Result<DevicePort*> GpuEngine::stage(const StepPorts& ports, Direction direction, bool coded,
                                     int peer) {
  const bool sends = direction == Direction::kSend;
  const TurnerTerms terms = {.edge = {.coded = coded, .messages = ports.lane >= kPointToPointLane},
                             .coding = coding_,
                             .traffic = traffic_};
  std::optional<PinnedPlaces> places =
      pin(sends ? ports.send->link->places() : ports.recv->places());
  const uint32_t slots = places ? places->places.slots : terms_.slots;
  const size_t slot_bytes = places ? 0 : terms_.slot_bytes + kChunkLead;
  STRAIT_ASSIGN(MarkedRing ring, MarkedRing::create(driver_, context_.get(), slots, slot_bytes));
  DevicePort facts = ring.device_port(static_cast<uint32_t>(peer));
  std::unique_ptr<LinkTurner> turner;
  if (places) {
    facts.slots = places->first();
    facts.slot_stride = places->places.stride;
    facts.sequence = places->places.next;
    turner = sends ? turn_direct(std::move(ring), std::move(*places), *ports.send, terms)
                   : turn_direct(std::move(ring), std::move(*places), *ports.recv, terms);
  } else {
    turner = sends ? turn_staged(std::move(ring), *ports.send, terms)
                   : turn_staged(std::move(ring), *ports.recv, terms);
  }
  STRAIT_ASSIGN(DevicePort * port, add_port(facts));
  bound_[name_of(ports, direction)] = {port, proxy_->add(std::move(turner))};
  return port;
}

// Nothing where the slots have no fixed places, or cannot be pinned.
std::optional<PinnedPlaces> GpuEngine::pin(SlotPlaces places) const {
  if (places.on_gpu) return PinnedPlaces{std::move(places), {}};
  if (places.memory.empty()) return std::nullopt;
  auto registered =
      cuda::RegisteredMemory::add(driver_, context_.get(), places.memory.data(),
                                  places.memory.size(), "slots between a GPU and a link");
  if (registered.ok()) return PinnedPlaces{std::move(places), std::move(*registered)};
  log_info(LogPart::kNet, "GPU {}: values are copied on their way to a link: {}", terms_.device,
           registered.status().message());
  return std::nullopt;
}

Result<DevicePort*> GpuEngine::add_port(const DevicePort& port) {
  if (ports_.empty() || ports_.back().used == kPortsPerSlab) {
    STRAIT_ASSIGN(cuda::DeviceMemory memory,
                  cuda::DeviceMemory::allocate(driver_, context_.get(),
                                               kPortsPerSlab * sizeof(DevicePort), "ports"));
    own_bytes_.fetch_add(memory.bytes());
    ports_.push_back({.memory = std::move(memory), .used = 0});
  }
  Slab& slab = ports_.back();
  auto* place = static_cast<DevicePort*>(slab.memory.data()) + slab.used;
  STRAIT_TRY(write(cuda::device_pointer(place), &port, sizeof port));
  ++slab.used;
  return place;
}

// Beside whatever the program's streams do, and complete when this returns.
Status GpuEngine::write(cuda::DevicePointer target, const void* source, size_t bytes) {
  STRAIT_ASSIGN(const cuda::ContextScope scope, cuda::ContextScope::enter(driver_, context_.get()));
  STRAIT_TRY(cuda::copy(driver_, target, cuda::device_pointer(source), bytes, own_stream_.get()));
  return cuda::wait_idle(driver_, own_stream_.get(), Deadline::after_ms(terms_.timeout_ms));
}

Status GpuEngine::reserve(cuda::DeviceMemory& memory, uint64_t bytes, const char* purpose) {
  if (bytes <= memory.bytes()) return Status();
  STRAIT_ASSIGN(
      cuda::DeviceMemory larger,
      cuda::DeviceMemory::allocate(driver_, context_.get(),
                                   std::max<uint64_t>(bytes, 2 * memory.bytes()), purpose));
  own_bytes_.fetch_add(larger.bytes());
  if (memory.bytes() > 0) retired_.push_back(std::move(memory));
  memory = std::move(larger);
  return Status();
}

}  // namespace strait
