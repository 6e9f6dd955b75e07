// Reads what a receiver may say to its sender: nothing, a reason, or the end of the connection. One
// thread at a time; never blocks.
#pragma once

#include <array>
#include <span>

#include "transport/net/frame.hpp"

namespace strait::tcp {

using net::FrameHeader;
using net::FrameKind;
using net::kReasonBytesMax;
using net::peer_reason;

class ReasonReader {
 public:
  enum class Outcome { kMore, kReason, kClosed };

  // kClosed leaves errno as recv() set it, 0 at the end of the stream.
  Outcome read(net::Stream& stream);
  std::span<const std::byte> text() const;

 private:
  std::array<std::byte, sizeof(FrameHeader) + kReasonBytesMax> buffer_{};
  size_t received_ = 0;
};

}  // namespace strait::tcp
