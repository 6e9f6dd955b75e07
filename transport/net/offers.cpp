#include "transport/net/offers.hpp"

#include <algorithm>
#include <chrono>

#include "base/log.hpp"

namespace strait::net {
namespace {

constexpr uint16_t kConnectionsMax = 64;

void refuse(Offer& offer, const Status& why) {
  for (Stream& fd : offer.fds)
    if (fd) send_reason(fd, why);
}

}  // namespace

Offers::~Offers() {
  for (auto& [name, offers] : offers_)
    for (Offer& offer : offers)
      refuse(offer, error(Code::kRemoteError, "closed before it accepted link {}->{} lane {}",
                          name.first, rank_, name.second));
}

void Offers::put(Caller caller) {
  LinkNote note;
  std::memcpy(&note, caller.note.data(), sizeof note);
  if (note.count < 1 || note.count > kConnectionsMax || note.index >= note.count) {
    log_info(LogPart::kNet, "closed a connection of rank {}: its link note makes no sense",
             caller.rank);
    return;
  }
  std::lock_guard lock(mutex_);
  auto& offers = offers_[{caller.rank, static_cast<int>(note.lane)}];
  auto offer = std::find_if(offers.begin(), offers.end(), [&](const Offer& other) {
    return other.note.attempt == note.attempt && other.note.count == note.count;
  });
  if (offer == offers.end()) {
    offer = offers.insert(
        offers.end(),
        Offer{.note = note, .whole = caller.note, .remote = caller.remote, .fds = {}});
    offer->fds.resize(note.count);
  }
  if (offer->fds[note.index]) return;  // twice the same: the second is closed
  offer->fds[note.index] = std::move(caller.fd);
  ++offer->present;
  changed_.notify_all();
}

Result<Offer> Offers::take(const LinkSpec& spec, Deadline deadline) {
  const int64_t start_ns = now_ns();
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(deadline.left_ns());
  std::unique_lock lock(mutex_);
  auto& offers = offers_[{spec.source, spec.lane}];
  auto found = offers.end();
  const bool there = changed_.wait_until(lock, until, [&] {
    found = std::find_if(offers.begin(), offers.end(),
                         [](const Offer& offer) { return offer.complete(); });
    return found != offers.end();
  });
  if (!there) return missing(spec, (now_ns() - start_ns) / 1'000'000);
  Offer offer = std::move(*found);
  offers.erase(found);
  lock.unlock();
  if (offer.note.slots == spec.slots && offer.note.slot_bytes == spec.slot_bytes) return offer;
  const Status why = error(
      Code::kInvalidUsage,
      "link {}->{} lane {}: rank {} sends through {} slots of {} bytes, rank {} expects {} of {}; "
      "set STRAIT_SLOTS and STRAIT_SLOT_BYTES the same on all ranks",
      spec.source, spec.destination, spec.lane, spec.source, offer.note.slots,
      offer.note.slot_bytes, spec.destination, spec.slots, spec.slot_bytes);
  refuse(offer, why);
  return why;
}

Status Offers::missing(const LinkSpec& spec, int64_t waited_ms) const {
  std::string others;
  for (const auto& [name, offers] : offers_)
    if (name.first == spec.source && name.second != spec.lane && !offers.empty())
      others += fmt::format("{}{}", others.empty() ? "; it opened lane " : ", ", name.second);
  return error(Code::kTimeout, "rank {} did not open link {}->{} lane {} within {} ms{}",
               spec.source, spec.source, spec.destination, spec.lane, waited_ms, others);
}

}  // namespace strait::net
