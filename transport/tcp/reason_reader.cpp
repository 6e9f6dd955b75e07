#include "transport/tcp/reason_reader.hpp"

#include <algorithm>
#include <cerrno>

namespace strait::tcp {

ReasonReader::Outcome ReasonReader::read(net::Stream& stream) {
  while (true) {
    FrameHeader header;
    std::memcpy(&header, buffer_.data(), sizeof header);
    const bool complete_header = received_ >= sizeof header;
    if (complete_header && (header.kind != FrameKind::kReason || header.bytes > kReasonBytesMax)) {
      errno = EPROTO;
      return Outcome::kClosed;
    }
    const size_t wanted = sizeof header + (complete_header ? header.bytes : 0);
    if (complete_header && received_ == wanted) return Outcome::kReason;
    const ssize_t count = stream.receive(std::span(buffer_).subspan(received_, wanted - received_));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return Outcome::kMore;
    if (count == 0) errno = 0;
    if (count <= 0) return Outcome::kClosed;
    received_ += static_cast<size_t>(count);
  }
}

std::span<const std::byte> ReasonReader::text() const {
  return std::span(buffer_).subspan(sizeof(FrameHeader), received_ - sizeof(FrameHeader));
}

}  // namespace strait::tcp
