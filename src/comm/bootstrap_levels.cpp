#include "comm/bootstrap_levels.hpp"

#include <algorithm>

#include "comm/bootstrap_wire.hpp"

namespace strait {
namespace {

class Levels final : public Bootstrap {
 public:
  Levels(const std::vector<UniqueId>& ids, const Meeting& meeting)
      : ids_(ids),
        rank_(meeting.rank),
        rank_count_(meeting.rank_count),
        part_count_(static_cast<int>(ids.size())),
        part_(part_of(rank_, rank_count_, part_count_)) {}

  Status join(const Meeting& meeting, const Config& config, const Hello& hello, Deadline deadline) {
    Meeting own = meeting;
    own.id = ids_[static_cast<size_t>(part_)];
    own.members = part_ == 0 ? members_of_first() : members_of(part_);
    Meeting across = meeting;
    across.id = ids_.front();
    across.members = members_of_first();
    auto met = Bootstrap::join(own, config, hello, deadline);
    if (!met.ok()) {
      if (part_ > 0 && speaks()) report_failure(across, met.status());
      return met.status();
    }
    own_ = std::move(*met);
    if (part_ > 0 && speaks()) {
      auto joined = Bootstrap::join(across, config, hello, deadline);
      if (!joined.ok()) {
        own_->fail(joined.status());
        return joined.status();
      }
      across_ = std::move(*joined);
    }
    return meet_all(hello, deadline);
  }

  int rank() const override { return rank_; }
  int rank_count() const override { return rank_count_; }
  const std::vector<Hello>& hellos() const override { return hellos_; }
  uint64_t comm_key() const override { return comm_key_; }
  const Secret& transport_secret() const override { return transport_secret_; }

  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> bytes,
                                                         Deadline deadline) override {
    auto gathered = part_ == 0 ? gather_at_first(bytes, deadline) : gather(bytes, deadline);
    if (!gathered.ok()) fail(gathered.status());
    return gathered;
  }

  Status barrier(Deadline deadline) override { return all_gather({}, deadline).status(); }

  void fail(const Status& why) override {
    if (across_) across_->fail(why);
    own_->fail(why);
  }

 private:
  using Pieces = std::vector<std::vector<std::byte>>;

  bool speaks() const { return rank_ == first_of_part(part_, rank_count_, part_count_); }

  std::vector<int> members_of(int part) const {
    std::vector<int> ranks;
    const int end = first_of_part(part + 1, rank_count_, part_count_);
    for (int rank = first_of_part(part, rank_count_, part_count_); rank < end; ++rank)
      ranks.push_back(rank);
    return ranks;
  }

  std::vector<int> members_of_first() const {
    std::vector<int> ranks = members_of(0);
    for (int part = 1; part < part_count_; ++part)
      ranks.push_back(first_of_part(part, rank_count_, part_count_));
    return ranks;
  }

  // All learn of all, and of the number by which the first root tells this communicator from
  // others; the secret follows from it and from the ids, which only the ranks have.
  Status meet_all(const Hello& hello, Deadline deadline) {
    Packer packer;
    const bool knows = part_ == 0 || across_;
    const uint64_t key = part_ == 0 ? own_->comm_key() : across_ ? across_->comm_key() : 0;
    const auto body = packer.number<uint8_t>(knows).number<uint64_t>(key).hello(hello).take();
    STRAIT_ASSIGN(const Pieces all, all_gather(body, deadline));
    for (const auto& bytes : all) {
      Unpacker reader(bytes);
      const bool has_key = reader.number<uint8_t>() != 0;
      const auto told = reader.number<uint64_t>();
      if (has_key) comm_key_ = told;
      hellos_.push_back(reader.hello());
    }
    Packer secrets;
    for (const UniqueId& id : ids_) secrets.bytes(id.secret);
    secrets.number(comm_key_);
    transport_secret_ = derive_secret(ids_.front().secret, "levels", secrets.take());
    return Status();
  }

  // At the first root: this part's ranks say their own, the speakers of the others all of theirs.
  Result<Pieces> gather_at_first(std::span<const std::byte> bytes, Deadline deadline) {
    STRAIT_ASSIGN(Pieces said, own_->all_gather(bytes, deadline));
    return join_pieces(said);
  }

  Result<Pieces> gather(std::span<const std::byte> bytes, Deadline deadline) {
    STRAIT_ASSIGN(const Pieces part, own_->all_gather(bytes, deadline));
    std::vector<std::byte> all;
    if (across_) {
      STRAIT_ASSIGN(const Pieces said, across_->all_gather(pack_pieces(part), deadline));
      STRAIT_ASSIGN(const Pieces joined, join_pieces(said));
      all = pack_pieces(joined);
    }
    STRAIT_ASSIGN(const Pieces told, own_->all_gather(all, deadline));
    return unpack_pieces(told.front(), static_cast<size_t>(rank_count_));
  }

  Result<Pieces> join_pieces(const Pieces& said) const {
    const size_t own_count = members_of(0).size();
    Pieces all(said.begin(), said.begin() + static_cast<std::ptrdiff_t>(own_count));
    for (size_t part = 1; own_count + part - 1 < said.size(); ++part) {
      STRAIT_ASSIGN(Pieces theirs, unpack_pieces(said[own_count + part - 1],
                                                 members_of(static_cast<int>(part)).size()));
      std::ranges::move(theirs, std::back_inserter(all));
    }
    return all;
  }

  static std::vector<std::byte> pack_pieces(const Pieces& pieces) {
    Packer packer;
    for (const auto& piece : pieces) packer.bytes(piece);
    return packer.take();
  }

  static Result<Pieces> unpack_pieces(const std::vector<std::byte>& bytes, size_t count) {
    Unpacker reader(bytes);
    Pieces pieces;
    for (size_t i = 0; i < count; ++i) pieces.push_back(reader.bytes());
    if (reader.ok()) return pieces;
    return error(Code::kInternalError, "one root of the bootstrap passed on unreadable bytes");
  }

  const std::vector<UniqueId> ids_;
  const int rank_;
  const int rank_count_;
  const int part_count_;
  const int part_;
  std::unique_ptr<Bootstrap> own_;
  std::unique_ptr<Bootstrap> across_;  // of the first rank of each further part
  std::vector<Hello> hellos_;
  uint64_t comm_key_ = 0;
  Secret transport_secret_{};
};

}  // namespace

int first_of_part(int part, int rank_count, int part_count) {
  return static_cast<int>(static_cast<int64_t>(part) * rank_count / part_count);
}

int part_of(int rank, int rank_count, int part_count) {
  int part = static_cast<int>(static_cast<int64_t>(rank) * part_count / rank_count);
  while (first_of_part(part + 1, rank_count, part_count) <= rank) ++part;
  return part;
}

Result<std::unique_ptr<Bootstrap>> join_levels(const std::vector<UniqueId>& ids,
                                               const Meeting& meeting, const Config& config,
                                               const Hello& hello, Deadline deadline) {
  auto levels = std::make_unique<Levels>(ids, meeting);
  STRAIT_TRY(levels->join(meeting, config, hello, deadline));
  return std::unique_ptr<Bootstrap>(std::move(levels));
}

}  // namespace strait
