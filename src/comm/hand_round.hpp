// Small records handed round among the ranks of a communicator, as one more call of it: every rank
// must make it at the same place in its order of calls. Blocks; any thread, as other calls.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace strait {

// The records of all ranks, by rank, one behind the other; all have the same length.
Result<std::vector<std::byte>> hand_round(Communicator& comm, std::span<const std::byte> mine);

template <class Record>
Result<std::vector<Record>> hand_round(Communicator& comm, const Record& mine) {
  STRAIT_ASSIGN(const std::vector<std::byte> bytes,
                hand_round(comm, std::as_bytes(std::span(&mine, 1))));
  std::vector<Record> records(static_cast<size_t>(comm.rank_count()));
  std::memcpy(records.data(), bytes.data(), bytes.size());
  return records;
}

}  // namespace strait
