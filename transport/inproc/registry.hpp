// The meeting place of a process: which ranks of which communicators live here, and the rings that
// senders have made and receivers have not yet picked up. One per process; any thread; used when
// links are made, never while they work.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.hpp"
#include "transport/ring/bell.hpp"
#include "transport/ring/ring_layout.hpp"
#include "transport/transport.hpp"

namespace strait {

// A ring and the doorbells of its two ends. Owned by both ends together.
struct InprocRing {
  LinkSpec spec;
  std::unique_ptr<std::byte, void (*)(std::byte*)> memory{nullptr, nullptr};
  RingView view;
  std::shared_ptr<Bell> producer_bell = std::make_shared<Bell>();
  std::shared_ptr<Bell> consumer_bell = std::make_shared<Bell>();
};

class InprocRegistry {
 public:
  static InprocRegistry& instance();

  // Makes a rank known; returns its address.
  std::string enter(const TransportContext& context);
  // Forgets the rank and every ring offered by it or to it.
  void leave(const std::string& address);
  // Ok if the address is `peer` of the same communicator in this process.
  Status find(const std::string& address, int peer, const TransportContext& self);
  // Offers a ring to the rank at `to`.
  Status offer(const std::string& from, const std::string& to, std::shared_ptr<InprocRing> ring);
  // Takes the ring that the rank at `from` offers to the one at `to`; waits until the deadline.
  Result<std::shared_ptr<InprocRing>> take(const std::string& from, const std::string& to,
                                           const LinkSpec& spec, Deadline deadline);

 private:
  InprocRegistry();

  struct Member {
    int rank;
    uint64_t comm_key;
    std::vector<std::byte> secret;
  };
  using OfferKey = std::tuple<std::string, std::string, int>;  // from, to, lane

  const std::string process_;  // random: what tells this process from every other
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t entered_ = 0;
  std::map<std::string, Member> members_;
  std::map<OfferKey, std::shared_ptr<InprocRing>> offers_;
};

}  // namespace strait
