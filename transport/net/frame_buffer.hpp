// Reads the few frames that travel over the stream beside a link: the receiver's side, reasons, a
// farewell. Their headers are believed only after they were checked. One thread at a time; never
// blocks.
#pragma once

#include <array>
#include <span>

#include "transport/net/frame.hpp"

namespace strait::net {

class FrameBuffer {
 public:
  enum class Outcome { kFrame, kMore, kClosed };

  // kFrame: header() and body() hold until the next call. kClosed leaves errno as recv() set it, 0
  // at the end of the stream.
  Outcome read(Stream& stream);
  const FrameHeader& header() const { return header_; }
  std::span<const std::byte> body() const { return std::span(body_).first(header_.bytes); }

 private:
  FrameHeader header_;
  std::array<std::byte, kReasonBytesMax> body_{};
  size_t received_ = 0;  // of both
};

// One frame, sent without waiting.
void send_frame(Stream& stream, const FrameHeader& header, std::span<const std::byte> body);

}  // namespace strait::net
