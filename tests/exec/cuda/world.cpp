#include "exec/cuda/world.hpp"

#include <cstring>
#include <deque>
#include <random>
#include <thread>

#include "exec/cuda/lowering.hpp"
#include "plan/interpreter.hpp"
#include "simt/simt.hpp"

namespace strait::test {
namespace {

constexpr uint32_t kTag = 0x1234'0000;
constexpr size_t kSlotBytes = 64 << 10;

// Random bits would be NaNs half of the time for some types; some of them are good.
void fill(std::byte* data, size_t bytes, size_t element_bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < bytes; i += element_bytes) {
    uint64_t value = random();
    // Mostly exponents near the middle, so that sums round.
    if (random() % 8 != 0 && element_bytes > 1)
      value = (value & ~(0x7ull << (8 * element_bytes - 4))) | 0x3ull << (8 * element_bytes - 4);
    std::memcpy(data + i, &value, element_bytes);
  }
}

// Any rank's scalar of pre-mul-sum: 3 in any type would be exact, so a pattern that is not.
std::vector<std::byte> scalar_of(DataType type) {
  std::vector<std::byte> scalar(8);
  const float factor = 0.7f;
  if (is_float(type) && size_of(type) < 4)
    combine({.type = type}, {scalar.data(), Form::kNarrow}, {&factor, Form::kWide}, {}, false, 1);
  else if (type == DataType::kFloat32)
    std::memcpy(scalar.data(), &factor, sizeof factor);
  else if (const double wide = 0.7; type == DataType::kFloat64)
    std::memcpy(scalar.data(), &wide, sizeof wide);
  else
    scalar[0] = std::byte{3};
  return scalar;
}

}  // namespace

std::string describe(const Scene& scene) {
  return fmt::format("{} {} of {} {} by {} over {}, {} lanes, pieces of {}{}, seed {}",
                     name_of(scene.request.collective), name_of(scene.request.reduce),
                     scene.request.count, name_of(scene.request.type),
                     name_of(scene.choice.algorithm), format(scene.topology), scene.choice.lanes,
                     scene.choice.piece, scene.in_place ? ", in place" : "", scene.seed);
}

struct World::Ring {
  explicit Ring(int slot_count)
      : slots(slot_count * kSlotBytes), marks(slot_count), flagged(slot_count * kFlaggedStride) {}

  DevicePort port(const Scene& scene) {
    return {.slots = slots.data(),
            .slot_stride = kSlotBytes,
            .marks = marks.data(),
            .released = &released,
            .mode = nullptr,
            .flagged = scene.low_latency ? flagged.data() : nullptr,
            .flagged_stride = kFlaggedStride,
            .slot_count = static_cast<uint32_t>(scene.slots),
            .peer = 0,
            .sequence = 0};
  }

  // Vectors of a type that new aligns to 16 bytes, which is what accesses want.
  std::vector<unsigned char> slots;
  std::vector<SlotMark> marks;
  std::vector<unsigned char> flagged;
  uint64_t released = 0;
};

struct World::Memory {
  Placement placement;
  size_t element_bytes;
  size_t accumulator_bytes;
  size_t lead;  // bytes before the first element
  std::vector<std::byte> narrow;
  std::vector<std::byte> scratch;

  std::byte* at(Buffer buffer, uint64_t offset) {
    if (buffer == Buffer::kScratch) return scratch.data() + offset * accumulator_bytes;
    const uint64_t element = placement.begin[static_cast<size_t>(buffer)] + offset;
    return narrow.data() + lead + element * element_bytes;
  }
};

World::World(const Scene& scene) : scene_(scene) {
  const int ranks = scene_.topology.rank_count();
  const auto scalar = scalar_of(scene_.request.type);
  arithmetic_ = make_arithmetic(scene_.request.type, scene_.request.reduce, ranks, scalar.data());
  for (int rank = 0; rank < ranks; ++rank) {
    plans_.push_back(make_plan(scene_.request, scene_.topology, scene_.choice, rank).value());
    memories_.push_back(make_memory(rank));
  }
  reports_.resize(static_cast<size_t>(ranks));
  tags_.assign(static_cast<size_t>(ranks), kTag);
}

World::~World() = default;

World::Memory World::make_memory(int rank) const {
  const Plan& plan = plans_[static_cast<size_t>(rank)];
  Memory memory{.placement = place_buffers(scene_.request, plan, rank, scene_.topology.rank_count(),
                                           scene_.in_place),
                .element_bytes = size_of(scene_.request.type),
                .accumulator_bytes = accumulator_size(scene_.request.type),
                .lead = scene_.misaligned,
                .narrow = {},
                .scratch = {}};
  const Placement& placement = memory.placement;
  memory.narrow.resize(scene_.misaligned + placement.begin[2] * memory.element_bytes,
                       std::byte{0xee});
  memory.scratch.resize(plan.scratch_count * memory.accumulator_bytes, std::byte{0xdd});
  fill(memory.at(Buffer::kInput, 0), placement.count[0] * memory.element_bytes,
       memory.element_bytes, scene_.seed * 1000 + static_cast<uint64_t>(rank));
  return memory;
}

std::vector<std::byte> World::output_of(const Memory& memory, int) const {
  Memory copy = memory;
  const std::byte* begin = copy.at(Buffer::kOutput, 0);
  return {begin, begin + memory.placement.count[1] * memory.element_bytes};
}

World::Ring& World::ring(const RingName& name) {
  std::unique_ptr<Ring>& ring = rings_[name];
  if (!ring) ring = std::make_unique<Ring>(scene_.slots);
  return *ring;
}

// ---- The host's arithmetic, step by step ------------------------------------------------------

namespace {

template <class Memory>
struct Reader {
  const Request& request;
  const Arithmetic& arithmetic;
  int rank;
  Memory& memory;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>>& messages;

  Operand operand(const Place& place, const Piece& piece) const {
    const bool scratch = place.buffer == Buffer::kScratch;
    return {.data = memory.at(place.buffer, place.offset + (scratch ? 0 : piece.offset)),
            .form = scratch ? Form::kWide : Form::kNarrow,
            .scaled = reduces(request.collective) && place.buffer == Buffer::kInput};
  }

  Result<Ran> run(const Piece& piece) {
    const Step& step = *piece.step;
    auto& incoming = messages[{step.recv_from, rank, piece.lane}];
    if (step.recv_from != kNoPeer && incoming.empty()) return Ran::kBlocked;
    std::vector<Operand> operands;
    if (step.source) operands.push_back(operand(*step.source, piece));
    if (step.recv_from != kNoPeer) operands.push_back({.data = incoming.front().data()});
    if (step.addend) operands.push_back(operand(*step.addend, piece));
    const Operand second = operands.size() > 1 ? operands[1] : Operand{};
    std::vector<std::byte> value(piece.count * memory.accumulator_bytes);
    Output out{.data = value.data()};
    if (step.target) {
      const Operand target = operand(*step.target, piece);
      out = {.data = const_cast<void*>(target.data), .form = target.form};
    }
    combine(arithmetic, out, operands[0], second, step.finish, piece.count);
    if (step.send_to != kNoPeer) {
      std::vector<std::byte> sent(piece.count * memory.element_bytes);
      combine(arithmetic, {.data = sent.data()}, {.data = out.data, .form = out.form}, {}, false,
              piece.count);
      messages[{rank, step.send_to, piece.lane}].push_back(std::move(sent));
    }
    if (step.recv_from != kNoPeer) incoming.pop_front();
    return Ran::kDone;
  }
};

}  // namespace

std::vector<std::vector<std::byte>> World::expected() const {
  std::vector<Memory> memories = memories_;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> messages;
  std::vector<Reader<Memory>> readers;
  std::vector<Interpreter<Reader<Memory>>> interpreters;
  readers.reserve(plans_.size());
  for (size_t rank = 0; rank < plans_.size(); ++rank) {
    readers.push_back(
        {scene_.request, arithmetic_, static_cast<int>(rank), memories[rank], messages});
    interpreters.emplace_back(plans_[rank], readers[rank]);
  }
  for (uint64_t moved = 1; moved > 0;) {
    moved = 0;
    for (auto& interpreter : interpreters) moved += interpreter.advance().value();
  }
  std::vector<std::vector<std::byte>> outputs;
  for (size_t rank = 0; rank < plans_.size(); ++rank) {
    EXPECT_TRUE(interpreters[rank].done());
    outputs.push_back(output_of(memories[rank], static_cast<int>(rank)));
  }
  return outputs;
}

// ---- The kernels ------------------------------------------------------------------------------

Status World::launch(int rank) {
  const size_t place = static_cast<size_t>(rank);
  std::map<std::tuple<Direction, size_t, int>, DevicePort> ports;
  const LoweredPlan plan =
      lower(plans_[place], scene_.request.type, [&](Direction direction, size_t lane, int peer) {
        const RingName name =
            direction == Direction::kSend ? RingName{rank, peer, lane} : RingName{peer, rank, lane};
        return &ports.try_emplace({direction, lane, peer}, rings_.at(name)->port(scene_))
                    .first->second;
      });
  if (plan.lanes.empty()) return Status();
  Memory& memory = memories_[place];
  uint32_t arrivals = 0;
  DeviceCall call{.lanes = plan.lanes.data(),
                  .steps = plan.steps.data(),
                  .input = reinterpret_cast<unsigned char*>(memory.at(Buffer::kInput, 0)),
                  .output = reinterpret_cast<unsigned char*>(memory.at(Buffer::kOutput, 0)),
                  .scratch = reinterpret_cast<unsigned char*>(memory.scratch.data()),
                  .staging = nullptr,
                  .coding = {},
                  .report = &reports_[place],
                  .arrivals = &arrivals,
                  .arithmetic = lower(arithmetic_, scene_.request),
                  .scalar_place = nullptr,
                  .tag = tags_[place]};
  const std::string name = fmt::format("strait_{}", name_of(scene_.request.type));
  const simt::Kernel* kernel = simt::find_kernel(name);
  if (kernel == nullptr) return error(Code::kInternalError, "there is no kernel {}", name);
  void* arguments[] = {&call};
  return simt::run({.grid = simt::Dim3(static_cast<uint32_t>(plan.lanes.size())),
                    .block = simt::Dim3(scene_.threads),
                    .shared_bytes = kLaneSharedBytes,
                    .name = fmt::format("{} of rank {}", name, rank)},
                   [&] { (*kernel)(arguments); }, {.deadline_ms = 30'000, .seed = scene_.seed});
}

Result<std::vector<std::vector<std::byte>>> World::run() {
  for (const Plan& plan : plans_)
    for (size_t lane = 0; lane < plan.lanes.size(); ++lane)
      for (const Step& step : plan.lanes[lane].steps) {
        if (step.send_to != kNoPeer) ring({plan.rank, step.send_to, lane});
        if (step.recv_from != kNoPeer) ring({step.recv_from, plan.rank, lane});
      }
  std::vector<Status> statuses(plans_.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < plans_.size(); ++rank)
    threads.emplace_back([&, rank] { statuses[rank] = launch(static_cast<int>(rank)); });
  for (std::thread& thread : threads) thread.join();
  std::vector<std::vector<std::byte>> outputs;
  for (size_t rank = 0; rank < plans_.size(); ++rank) {
    if (!statuses[rank].ok()) return statuses[rank];
    outputs.push_back(output_of(memories_[rank], static_cast<int>(rank)));
  }
  return outputs;
}

uint64_t World::flagged_lines() const {
  uint64_t lines = 0;
  for (const auto& [name, ring] : rings_)
    for (size_t at = 0; at < ring->flagged.size(); at += 16)
      lines += ring->flagged[at + 4] != 0 ? 1 : 0;
  return lines;
}

}  // namespace strait::test
