#include "comm/children.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "comm/bootstrap_wire.hpp"
#include "comm/join.hpp"
#include "comm/version.hpp"

namespace strait {
namespace {

// What a rank says at the meeting of a child that may share its parent's station.
struct Wish {
  int color = 0;
  int key = 0;
  int band = 0;
  Hello hello;  // with the settings of the child, which only ranks of one color must share

  std::vector<std::byte> pack() const {
    Packer packer;
    packer.number<int32_t>(color).number<int32_t>(key).number<int32_t>(band).hello(hello);
    return packer.take();
  }
  static Result<Wish> unpack(std::span<const std::byte> bytes) {
    Unpacker reader(bytes);
    Wish wish;
    wish.color = reader.number<int32_t>();
    wish.key = reader.number<int32_t>();
    wish.band = reader.number<int32_t>();
    wish.hello = reader.hello();
    if (reader.ok()) return wish;
    return error(Code::kRemoteError, "a rank sent an unreadable wish for a new communicator");
  }
};

UniqueId id_hosted_by(const Communicator& parent, int rank, const std::string& purpose) {
  const Kin& kin = parent.parts().kin;
  return UniqueId::derived(
      kin.secret, purpose,
      net::parse_addresses(kin.places[static_cast<size_t>(rank)], UniqueId::kAddressesMax));
}

// The child of these ranks of the parent; this rank is one of them.
class Child {
 public:
  Child(const ChildTerms& terms, std::vector<int> ranks, std::string purpose)
      : terms_(terms),
        parent_(*terms.parent),
        ranks_(std::move(ranks)),
        purpose_(std::move(purpose)),
        rank_(static_cast<int>(std::ranges::find(ranks_, parent_.rank()) - ranks_.begin())) {}

  Meeting meeting() const {
    return {.id = id_hosted_by(parent_, ranks_.front(), purpose_),
            .rank = rank_,
            .rank_count = static_cast<int>(ranks_.size()),
            .host = rank_ == 0 ? parent_.parts().kin.door : nullptr,
            .stop = terms_.stop};
  }

  // With a station of its own.
  Result<std::shared_ptr<Communicator>> join() const {
    JoinTerms join{.meeting = meeting(),
                   .config = terms_.config,
                   .device = parent_.device(),
                   .progress = terms_.progress};
    join.domain = fmt::format("domain {} of the parent", domain_of(parent_.rank()));
    if (terms_.config.transports == parent_.config().transports)
      for (const int rank : ranks_)
        join.ways.push_back(parent_.parts().kin.ways[static_cast<size_t>(rank)]);
    return strait::join(std::move(join));
  }

  // At the parent's station, in a band of lanes that all of its ranks have taken.
  std::shared_ptr<Communicator> share(int band) const {
    const Communicator::Parts& from = parent_.parts();
    from.station->skip_to(band);
    Communicator::Parts parts;
    parts.rank = rank_;
    parts.device = parent_.device();
    parts.config = terms_.config;
    parts.config.device = parent_.config().device;
    parts.station = from.station;
    parts.band = band;
    parts.progress = terms_.progress;
    parts.kin.secret =
        derive_secret(from.kin.secret, "shared station", std::as_bytes(std::span(purpose_)));
    parts.kin.door = from.kin.door;
    std::vector<std::string> domains;
    for (const int rank : ranks_) {
      const auto place = static_cast<size_t>(rank);
      domains.push_back(std::to_string(domain_of(rank)));
      parts.routes.push_back(from.routes[place]);
      parts.kin.places.push_back(from.kin.places[place]);
      parts.kin.ways.push_back(from.kin.ways[place]);
    }
    parts.topology = Topology::from_names(domains);
    return Communicator::make(std::move(parts));
  }

 private:
  int domain_of(int parent_rank) const {
    return parent_.topology().domain_of[static_cast<size_t>(parent_rank)];
  }

  const ChildTerms& terms_;
  const Communicator& parent_;
  const std::vector<int> ranks_;
  const std::string purpose_;
  const int rank_;
};

std::vector<int> all_ranks_of(const Communicator& parent) {
  std::vector<int> all(static_cast<size_t>(parent.rank_count()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Meeting growing(const ChildTerms& terms, int rank_count) {
  const Communicator& parent = *terms.parent;
  return {.id = grow_id(parent, terms.purpose),
          .rank = parent.rank(),
          .rank_count = rank_count,
          .host = parent.rank() == 0 ? parent.parts().kin.door : nullptr,
          .stop = terms.stop};
}

Wish make_wish(const ChildTerms& terms, int color, int key) {
  return {.color = color,
          .key = key,
          // A station is shared by ranks on hosts only.
          .band = terms.parent->device().gpu ? 0 : terms.band,
          .hello = make_hello(kVersion, terms.config.agreed_values())};
}

// What all who meet wish, by their number there.
Result<std::vector<Wish>> exchange(const Meeting& meeting, const Config& config, const Wish& mine) {
  Hello hello = make_hello(kVersion, {});
  hello.payload = mine.pack();
  STRAIT_ASSIGN(const auto bootstrap, Bootstrap::join(meeting, config, hello,
                                                      Deadline::after_ms(config.init_timeout_ms)));
  std::vector<Wish> wishes;
  for (const Hello& theirs : bootstrap->hellos()) {
    STRAIT_ASSIGN(Wish wish, Wish::unpack(theirs.payload));
    wishes.push_back(std::move(wish));
  }
  return wishes;
}

// The band of lanes for a shared station, greater than any that its ranks use; 0: do not share.
int agreed_band(const std::vector<Wish>& wishes, const std::vector<int>& ranks) {
  int band = 0;
  for (const int rank : ranks) {
    const int theirs = wishes[static_cast<size_t>(rank)].band;
    if (theirs == 0) return 0;
    band = std::max(band, theirs);
  }
  return band < kBandsMax ? band : 0;
}

Status check_settings(const std::vector<Wish>& wishes, const std::vector<int>& ranks) {
  const auto first = static_cast<size_t>(ranks.front());
  for (const int rank : ranks)
    STRAIT_TRY(check_agreement(ranks.front(), wishes[first].hello, rank,
                               wishes[static_cast<size_t>(rank)].hello));
  return Status();
}

}  // namespace

Result<std::shared_ptr<Communicator>> split(const ChildTerms& terms, int color, int key) {
  const Communicator& parent = *terms.parent;
  const std::vector<int> everyone = all_ranks_of(parent);
  const Child all(terms, everyone, terms.purpose);
  STRAIT_ASSIGN(const std::vector<Wish> wishes,
                exchange(all.meeting(), parent.config(), make_wish(terms, color, key)));
  if (color == kNoColor) return std::shared_ptr<Communicator>();
  std::vector<int> ranks;
  for (const int rank : everyone)
    if (wishes[static_cast<size_t>(rank)].color == color) ranks.push_back(rank);
  std::ranges::stable_sort(ranks, {}, [&](int r) { return wishes[static_cast<size_t>(r)].key; });
  STRAIT_TRY(check_settings(wishes, ranks));
  const int band = agreed_band(wishes, ranks);
  const Child child(terms, ranks, fmt::format("{}, color {}", terms.purpose, color));
  if (band > 0) return child.share(band);
  return child.join();
}

Result<std::shared_ptr<Communicator>> shrink(const ChildTerms& terms,
                                             const std::vector<int>& ranks) {
  const Child child(terms, ranks, terms.purpose);
  if (terms.band == 0) return child.join();
  STRAIT_ASSIGN(const std::vector<Wish> wishes,
                exchange(child.meeting(), terms.config, make_wish(terms, 0, 0)));
  std::vector<int> everyone(ranks.size());
  std::iota(everyone.begin(), everyone.end(), 0);
  STRAIT_TRY(check_settings(wishes, everyone));
  const int band = agreed_band(wishes, everyone);
  if (band > 0) return child.share(band);
  return Child(terms, ranks, terms.purpose + ", alone").join();
}

UniqueId grow_id(const Communicator& parent, const std::string& purpose) {
  return id_hosted_by(parent, 0, purpose);
}

Result<std::shared_ptr<Communicator>> grow(const ChildTerms& terms, int rank_count) {
  return join({.meeting = growing(terms, rank_count),
               .config = terms.config,
               .device = terms.parent->device(),
               .progress = terms.progress});
}

void refuse_split(const ChildTerms& terms, const Status& why) {
  report_failure(Child(terms, all_ranks_of(*terms.parent), terms.purpose).meeting(), why);
}

void refuse_shrink(const ChildTerms& terms, const std::vector<int>& ranks, const Status& why) {
  report_failure(Child(terms, ranks, terms.purpose).meeting(), why);
}

void refuse_grow(const ChildTerms& terms, int rank_count, const Status& why) {
  report_failure(growing(terms, rank_count), why);
}

std::string shrink_purpose(const std::vector<int>& excluded) {
  return fmt::format("shrink without {}", fmt::join(excluded, ", "));
}

}  // namespace strait
