#include "comm/hand_round.hpp"

namespace strait {
namespace {

Operation round_of(const Communicator& comm, const std::byte* mine, size_t bytes, std::byte* all) {
  const Request request{.collective = Collective::kAllGather,
                        .type = DataType::kUint8,
                        .reduce = ReduceKind::kSum,
                        .count = bytes};
  return make_operation(request, comm.rank_count(), nullptr, mine, all);
}

}  // namespace

Result<std::vector<std::byte>> hand_round(Communicator& comm, std::span<const std::byte> mine) {
  std::vector<std::byte> all(mine.size() * static_cast<size_t>(comm.rank_count()));
  if (comm.gpu() == nullptr) {
    STRAIT_TRY(
        comm.run(comm.take_ticket(), {round_of(comm, mine.data(), mine.size(), all.data())}));
    return all;
  }
  GpuSide& gpu = *comm.gpu();
  const auto memory = gpu.reserve_round(mine.size() + all.size());
  if (!memory.ok()) comm.fail(memory.status());
  STRAIT_TRY(memory.status());
  std::byte* const found = *memory + mine.size();
  std::memcpy(*memory, mine.data(), mine.size());
  void* const stream = gpu.round_stream();
  STRAIT_TRY(
      comm.run(comm.take_ticket(), {round_of(comm, *memory, mine.size(), found)}, {&stream, 1}));
  STRAIT_TRY(gpu.complete_round());
  STRAIT_TRY(comm.failure());
  std::memcpy(all.data(), found, all.size());
  return all;
}

}  // namespace strait
