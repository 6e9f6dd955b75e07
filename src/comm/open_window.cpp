#include "comm/open_window.hpp"

#include "comm/hand_round.hpp"

namespace strait {
namespace {

struct Offer {
  uint64_t bytes = 0;
  SegmentPlace place = {};
  uint32_t number = 0;
  uint32_t refused = 0;
};

}  // namespace

Result<uint32_t> open_window(Communicator& comm, std::byte* base, uint64_t bytes,
                             const Status& wrong) {
  STRAIT_TRY(comm.open_rma());
  const auto rma = comm.rma();
  const uint32_t number = rma->windows().add(base, wrong.ok() ? bytes : 0);
  const auto offers = hand_round(
      comm, Offer{.bytes = bytes,
                  .place = Segments::instance().find(base, bytes).value_or(SegmentPlace{}),
                  .number = number,
                  .refused = wrong.ok() ? 0U : 1U});
  Status status = wrong.ok() ? offers.status() : wrong;
  std::vector<PeerWindow> peers;
  for (int rank = 0; status.ok() && rank < comm.rank_count(); ++rank) {
    const Offer& offer = (*offers)[static_cast<size_t>(rank)];
    if (offer.refused != 0)
      status = error(Code::kInvalidArgument,
                     "rank {} cannot register its window: its ncclGetLastError says why", rank);
    else if (offer.number != number)
      status = error(Code::kInvalidUsage,
                     "rank {} registers its window {} and this rank its window {}: all ranks must "
                     "register in the same order",
                     rank, offer.number, number);
    peers.push_back({.bytes = offer.bytes, .place = offer.place, .memory = nullptr});
  }
  if (!status.ok()) {
    rma->windows().remove(number);
    return status;
  }
  rma->windows().set_peers(number, std::move(peers));
  return number;
}

void close_window(Communicator& comm, uint32_t number) {
  if (const auto rma = comm.rma()) rma->windows().remove(number);
}

}  // namespace strait
