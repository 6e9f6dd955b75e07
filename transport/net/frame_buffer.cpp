#include "transport/net/frame_buffer.hpp"

#include <cerrno>

namespace strait::net {
namespace {

bool can_be(const FrameHeader& header) {
  const bool known = header.kind == FrameKind::kReason || header.kind == FrameKind::kSide ||
                     header.kind == FrameKind::kLeave;
  return known && header.bytes <= kReasonBytesMax;
}

}  // namespace

FrameBuffer::Outcome FrameBuffer::read(Stream& stream) {
  constexpr size_t kHeaderBytes = sizeof(FrameHeader);
  if (received_ >= kHeaderBytes && received_ == kHeaderBytes + header_.bytes) received_ = 0;
  while (received_ < kHeaderBytes || received_ < kHeaderBytes + header_.bytes) {
    const bool in_header = received_ < kHeaderBytes;
    const std::span<std::byte> rest =
        in_header ? std::as_writable_bytes(std::span(&header_, 1)).subspan(received_)
                  : std::span(body_).first(header_.bytes).subspan(received_ - kHeaderBytes);
    const ssize_t count = stream.receive(rest);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return Outcome::kMore;
    if (count == 0) errno = 0;
    if (count <= 0) return Outcome::kClosed;
    received_ += static_cast<size_t>(count);
    if (received_ == kHeaderBytes && !can_be(header_)) {
      errno = EPROTO;
      return Outcome::kClosed;
    }
  }
  return Outcome::kFrame;
}

void send_frame(Stream& stream, const FrameHeader& header, std::span<const std::byte> body) {
  std::vector<std::byte> frame(sizeof header + body.size());
  std::memcpy(frame.data(), &header, sizeof header);
  if (!body.empty()) std::memcpy(frame.data() + sizeof header, body.data(), body.size());
  [[maybe_unused]] const ssize_t sent = stream.send(frame);
}

}  // namespace strait::net
