#include "comm/open_window.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "comm/hand_round.hpp"

namespace strait {
namespace {

struct Offer {
  uint64_t bytes = 0;
  SegmentPlace place = {};
  uint32_t number = 0;
  uint32_t refused = 0;
  // On a GPU: the allocation in which the window lies, and how peers may come to it.
  uint64_t allocation_bytes = 0;
  uint64_t offset = 0;
  PeerWays ways = 0;
};

// Of one rank, as it came out.
enum class Outcome : uint8_t { kReached, kNotShared, kFailed };

std::string name_of_window(uint32_t number) {
  return fmt::format("window {}", number);
}

// One registration on one rank.
class Opening {
 public:
  Opening(Communicator& comm, std::byte* base, uint64_t bytes)
      : comm_(comm), rma_(comm.rma()), gpu_(comm.gpu()), base_(base), bytes_(bytes) {}

  Result<uint32_t> run(Status wrong) {
    Offer mine{.bytes = bytes_,
               .place = Segments::instance().find(base_, bytes_).value_or(SegmentPlace{})};
    mine.number = number_ = rma_->windows().add(base_, wrong.ok() ? bytes_ : 0);
    if (wrong.ok() && gpu_ != nullptr) wrong = offer_gpu_memory(mine);
    mine.refused = wrong.ok() ? 0U : 1U;
    const auto offers = hand_round(comm_, mine);
    Status status = wrong.ok() ? offers.status() : wrong;
    if (status.ok()) status = take(*offers);
    if (status.ok() && gpu_ != nullptr) status = reach_all(*offers);
    if (gpu_ != nullptr && gpu_->engine().peers() != nullptr)
      gpu_->engine().peers()->withdraw(name_of_window(number_));
    if (status.ok() && shared_) {
      rma_->windows().set_peers(number_, std::move(peers_));
      return number_;
    }
    rma_->remove_window(number_);
    if (!status.ok()) return status;
    return uint32_t{0};
  }

 private:
  Status offer_gpu_memory(Offer& mine) {
    STRAIT_ASSIGN(facts_, gpu_->check_window(base_, bytes_));
    if (facts_.kind != cuda::MemoryKind::kDevice) return Status();
    mine.allocation_bytes = facts_.bytes;
    mine.offset = cuda::device_pointer(base_) - facts_.base;
    const PeerRings* peers = gpu_->engine().peers();
    if (peers != nullptr) mine.ways = peers->ways_to_share(facts_);
    return mine.ways == 0 ? Status() : peers->publish_allocation(name_of_window(number_), facts_);
  }

  // What the others offer, if all go together.
  Status take(const std::vector<Offer>& offers) {
    for (size_t rank = 0; rank < offers.size(); ++rank) {
      const Offer& offer = offers[rank];
      if (offer.refused != 0)
        return error(Code::kInvalidArgument,
                     "rank {} cannot register its window: its ncclGetLastError says why", rank);
      if (offer.number != number_)
        return error(Code::kInvalidUsage,
                     "rank {} registers its window {} and this rank its window {}: all ranks must "
                     "register in the same order",
                     rank, offer.number, number_);
      PeerWindow peer;
      peer.bytes = offer.bytes;
      peer.place = offer.place;
      peers_.push_back(std::move(peer));
    }
    return Status();
  }

  // Maps the windows that this GPU will write into, and hears how the others fared.
  Status reach_all(const std::vector<Offer>& offers) {
    Status status;
    Outcome mine = Outcome::kReached;
    for (int rank = 0; rank < comm_.rank_count() && mine == Outcome::kReached; ++rank)
      mine = reach(rank, offers[static_cast<size_t>(rank)], &status);
    const auto outcomes = hand_round(comm_, mine);
    STRAIT_TRY(status);
    STRAIT_TRY(outcomes.status());
    for (size_t rank = 0; rank < outcomes->size(); ++rank)
      if ((*outcomes)[rank] == Outcome::kFailed)
        return error(Code::kSystemError,
                     "rank {} cannot map a window of its peers: its ncclGetLastError says why",
                     rank);
    shared_ = std::ranges::count(*outcomes, Outcome::kNotShared) == 0;
    return Status();
  }

  Outcome reach(int rank, const Offer& offer, Status* status) {
    const PeerRings* peers = gpu_->engine().peers();
    if (rank == comm_.rank() || peers == nullptr || !peers->reaches(rank)) return Outcome::kReached;
    if (!has(offer.ways, peers->way_to(rank))) {
      log_info(
          LogPart::kReg,
          "rank {}: window {} of rank {} is no memory that its GPU can share: allocate it with "
          "ncclMemAlloc; there is no window for it (NULL)",
          comm_.rank(), number_, rank);
      return Outcome::kNotShared;
    }
    auto memory =
        peers->fetch(rank, name_of_window(number_), offer.allocation_bytes,
                     Deadline::after_ms(comm_.wait_ms()), [this] { return comm_.failure(); });
    if (!memory.ok()) {
      *status = memory.status();
      return Outcome::kFailed;
    }
    PeerWindow& peer = peers_[static_cast<size_t>(rank)];
    peer.mapping = std::make_shared<const PeerMemory>(std::move(*memory));
    peer.mapping_offset = offer.offset;
    return Outcome::kReached;
  }

  Communicator& comm_;
  const std::shared_ptr<Rma> rma_;
  GpuSide* const gpu_;
  std::byte* const base_;
  const uint64_t bytes_;
  cuda::PointerFacts facts_;
  uint32_t number_ = 0;
  std::vector<PeerWindow> peers_;
  bool shared_ = true;
};

}  // namespace

Result<uint32_t> open_window(Communicator& comm, std::byte* base, uint64_t bytes,
                             const Status& wrong) {
  STRAIT_TRY(comm.open_rma());
  return Opening(comm, base, bytes).run(wrong);
}

void close_window(Communicator& comm, uint32_t number) {
  if (const auto rma = comm.rma()) rma->remove_window(number);
}

}  // namespace strait
