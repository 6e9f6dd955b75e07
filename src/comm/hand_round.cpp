#include "comm/hand_round.hpp"

namespace strait {

Result<std::vector<std::byte>> hand_round(Communicator& comm, std::span<const std::byte> mine) {
  std::vector<std::byte> all(mine.size() * static_cast<size_t>(comm.rank_count()));
  const Request request{.collective = Collective::kAllGather,
                        .type = DataType::kUint8,
                        .reduce = ReduceKind::kSum,
                        .count = mine.size()};
  const Operation operation =
      make_operation(request, comm.rank_count(), nullptr, mine.data(), all.data());
  STRAIT_TRY(comm.run(comm.take_ticket(), {operation}));
  return all;
}

}  // namespace strait
