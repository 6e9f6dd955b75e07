#include "transport/net/rate_meter.hpp"

// The C library's own tcp_info lacks these counts; the two headers cannot be mixed.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace strait::net {
namespace {

constexpr uint64_t kEnoughUs = 20'000;  // some ticks of the kernel
constexpr double kOwnPart = 0.5;        // of the time under way: must be the bytes' own
constexpr double kLimitedPart = 0.2;    // of it: the receiver did not read

}  // namespace

LinkRate RateMeter::measure(int fd, uint64_t messages) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  constexpr socklen_t kNeeded =
      offsetof(tcp_info, tcpi_rwnd_limited) + sizeof info.tcpi_rwnd_limited;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || bytes < kNeeded) return {};
  messages_ += messages;
  const Counts counts{.acked_bytes = info.tcpi_bytes_acked,
                      .busy_us = info.tcpi_busy_time,
                      .receiver_limited_us = info.tcpi_rwnd_limited};
  if (!begun_) {  // what the handshake took is no measure
    begun_ = true;
    last_ = counts;
    messages_ = 0;
    return {};
  }
  if (counts.busy_us - last_.busy_us < kEnoughUs) return {};
  const auto acked = static_cast<double>(counts.acked_bytes - last_.acked_bytes);
  const auto busy_us = static_cast<double>(counts.busy_us - last_.busy_us);
  const auto limited_us =
      static_cast<double>(counts.receiver_limited_us - last_.receiver_limited_us);
  // At most every message was alone under way.
  const double own_us = busy_us - static_cast<double>(messages_) * info.tcpi_min_rtt;
  last_ = counts;
  messages_ = 0;
  const bool known = own_us > kOwnPart * busy_us && limited_us < kLimitedPart * busy_us;
  return {.bytes_per_second = acked / (known ? own_us : busy_us) * 1e6, .known = known};
}

}  // namespace strait::net
