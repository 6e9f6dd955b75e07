// RateMeter: what a TCP connection can carry, from the kernel's own counts of acknowledged bytes
// and of the time in which bytes were under way. (Its delivery rate is no help: it is that of the
// last few packets, and those come in bursts.) The kernel counts that time in ticks of up to 10 ms,
// so a measurement takes several of them together. Where the way there and back is most of the
// time, or the far end did not read, it is only what the connection carries at least. One system
// call; one thread at a time.
#pragma once

#include <cstdint>

#include "transport/link.hpp"

namespace strait::net {

class RateMeter {
 public:
  // After `messages` more were given to the connection. {0, false}: too early to tell.
  LinkRate measure(int fd, uint64_t messages);

 private:
  struct Counts {
    uint64_t acked_bytes = 0;
    uint64_t busy_us = 0;
    uint64_t receiver_limited_us = 0;
  };

  bool begun_ = false;
  Counts last_;
  uint64_t messages_ = 0;  // since last_
};

}  // namespace strait::net
