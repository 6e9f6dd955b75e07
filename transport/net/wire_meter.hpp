// What a link can carry, from when its messages were posted and when they were acknowledged: bytes
// over the time in which something was under way, less what a lone message waits for its echo. One
// thread at a time; one reading of the clock per message.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"
#include "transport/link.hpp"

namespace strait::net {

class WireMeter {
 public:
  void posted() {
    const int64_t now = now_ns();
    if (under_way_++ == 0)
      alone_since_ns_ = busy_since_ns_ = now;
    else
      alone_since_ns_ = 0;
  }
  void acknowledged(size_t bytes) {
    const int64_t now = now_ns();
    if (alone_since_ns_ != 0) echo_ns_ = std::min(echo_ns_, now - alone_since_ns_);
    alone_since_ns_ = 0;
    bytes_ += bytes;
    ++messages_;
    if (--under_way_ == 0) busy_ns_ += now - busy_since_ns_;
  }
  // Since it was last asked.
  LinkRate measure() {
    const int64_t now = now_ns();
    int64_t busy_ns = busy_ns_;
    if (under_way_ > 0) busy_ns += now - busy_since_ns_;
    if (busy_ns < kEnoughNs) return {};
    const int64_t echoes_ns =
        static_cast<int64_t>(messages_) * (echo_ns_ == kUnknown ? 0 : echo_ns_);
    const int64_t own_ns = busy_ns - echoes_ns;
    const bool known = own_ns > busy_ns / 2;
    const LinkRate rate{.bytes_per_second = static_cast<double>(bytes_) /
                                            static_cast<double>(known ? own_ns : busy_ns) * 1e9,
                        .known = known};
    bytes_ = messages_ = 0;
    busy_ns_ = 0;
    busy_since_ns_ = now;
    return rate;
  }

 private:
  static constexpr int64_t kEnoughNs = 20'000'000;
  static constexpr int64_t kUnknown = INT64_MAX;

  uint64_t bytes_ = 0;
  uint64_t messages_ = 0;
  uint64_t under_way_ = 0;
  int64_t busy_since_ns_ = 0;
  int64_t alone_since_ns_ = 0;  // of a message that was posted alone and stayed so; else 0
  int64_t busy_ns_ = 0;
  int64_t echo_ns_ = kUnknown;  // the shortest that was seen
};

}  // namespace strait::net
