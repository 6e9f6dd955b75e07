#include "transport/inproc/registry.hpp"

#include <fmt/ranges.h>
#include <sodium.h>

#include <array>
#include <chrono>

namespace strait {
namespace {

std::string random_name() {
  STRAIT_CHECK(sodium_init() >= 0, "the system gives no random numbers");
  std::array<unsigned char, 16> random{};
  randombytes_buf(random.data(), random.size());
  return fmt::format("{:02x}", fmt::join(random, ""));
}

}  // namespace

InprocRegistry& InprocRegistry::instance() {
  // Never destroyed: programs destroy communicators from their own static destructors.
  static InprocRegistry& registry = *new InprocRegistry();
  return registry;
}

InprocRegistry::InprocRegistry() : process_(random_name()) {}

std::string InprocRegistry::enter(const TransportContext& context) {
  std::lock_guard lock(mutex_);
  std::string address = fmt::format("{}/{}", process_, ++entered_);
  members_[address] = {context.rank, context.comm_key, context.secret};
  return address;
}

void InprocRegistry::leave(const std::string& address) {
  std::lock_guard lock(mutex_);
  members_.erase(address);
  std::erase_if(offers_, [&](const auto& offer) {
    return std::get<0>(offer.first) == address || std::get<1>(offer.first) == address;
  });
  changed_.notify_all();
}

Status InprocRegistry::find(const std::string& address, int peer, const TransportContext& self) {
  std::lock_guard lock(mutex_);
  const auto member = members_.find(address);
  if (member == members_.end())
    return error(Code::kRemoteError, "rank {} is not in this process", peer);
  const Member& found = member->second;
  if (found.rank != peer || found.comm_key != self.comm_key)
    return error(Code::kRemoteError, "rank {} gave the address of rank {} of {} communicator", peer,
                 found.rank, found.comm_key == self.comm_key ? "this" : "another");
  if (found.secret.size() != self.secret.size() ||
      sodium_memcmp(found.secret.data(), self.secret.data(), self.secret.size()) != 0)
    return error(Code::kRemoteError, "rank {} refused: its secret differs", peer);
  return Status();
}

Status InprocRegistry::offer(const std::string& from, const std::string& to,
                             std::shared_ptr<InprocRing> ring) {
  const LinkSpec spec = ring->spec;
  std::lock_guard lock(mutex_);
  if (!offers_.try_emplace({from, to, spec.lane}, std::move(ring)).second)
    return error(Code::kInvalidUsage, "rank {} already opened link {}->{} lane {}", spec.source,
                 spec.source, spec.destination, spec.lane);
  changed_.notify_all();
  return Status();
}

Result<std::shared_ptr<InprocRing>> InprocRegistry::take(const std::string& from,
                                                         const std::string& to,
                                                         const LinkSpec& spec, Deadline deadline) {
  const int64_t start_ns = now_ns();
  const OfferKey key{from, to, spec.lane};
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(deadline.left_ns());
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return offers_.contains(key) || !members_.contains(from); };
  if (!changed_.wait_until(lock, until, ready))
    return error(Code::kTimeout, "rank {} did not open link {}->{} lane {} within {} ms",
                 spec.source, spec.source, spec.destination, spec.lane,
                 (now_ns() - start_ns) / 1'000'000);
  const auto offer = offers_.find(key);
  if (offer == offers_.end())
    return error(Code::kRemoteError, "rank {} left before it opened link {}->{} lane {}",
                 spec.source, spec.source, spec.destination, spec.lane);
  auto ring = std::move(offer->second);
  offers_.erase(offer);
  return ring;
}

}  // namespace strait
