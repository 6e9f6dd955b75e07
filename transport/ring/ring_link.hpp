// The two ends of a ring as links: what inproc and shm have in common, which is everything but how
// the memory came to both sides. One producer, one consumer, no locks: each side writes its own
// index and keeps a copy of the other's, so a full stream touches a shared line once per batch. A
// doorbell is rung only when the other side found nothing and said so. Threads as in link.hpp.
#pragma once

#include <memory>

#include "transport/link.hpp"
#include "transport/ring/reach.hpp"
#include "transport/ring/ring_port.hpp"

namespace strait {

// Without a reach nothing is lent. The link keeps it for as long as it lives (unlike the port,
// which the reactor may hold a moment longer).
std::unique_ptr<SendLink> make_ring_sender(std::shared_ptr<RingPort> port,
                                           std::shared_ptr<Reach> reach = nullptr);
std::unique_ptr<RecvLink> make_ring_receiver(std::shared_ptr<RingPort> port,
                                             std::shared_ptr<Reach> reach = nullptr);

}  // namespace strait
