#include "transport/net/frame.hpp"

#include <algorithm>
#include <cerrno>

namespace strait::net {

std::vector<std::byte> reason_frame(const Status& why) {
  const std::string& text = why.message();
  FrameHeader header{.kind = FrameKind::kReason,
                     .bytes = static_cast<uint32_t>(std::min(text.size(), kReasonBytesMax)),
                     .tag = static_cast<uint32_t>(why.code()),
                     .sequence = 0};
  std::vector<std::byte> frame(sizeof header + header.bytes);
  std::memcpy(frame.data(), &header, sizeof header);
  std::memcpy(frame.data() + sizeof header, text.data(), header.bytes);
  return frame;
}

Status peer_reason(int peer, std::span<const std::byte> text) {
  return error(Code::kRemoteError, "rank {}: {}", peer,
               std::string(reinterpret_cast<const char*>(text.data()), text.size()));
}

Status connection_ended(const LinkSpec& spec, int peer, const std::string& remote, int number) {
  const bool silent = number == ETIMEDOUT || number == EHOSTUNREACH || number == ENETUNREACH;
  return error(Code::kRemoteError, "rank {} {} at {} (link {}->{} lane {})", peer,
               silent ? "does not answer any more" : "closed the connection", remote, spec.source,
               spec.destination, spec.lane);
}

void send_reason(Stream& stream, const Status& why) {
  [[maybe_unused]] const ssize_t sent = stream.send(reason_frame(why));
}

}  // namespace strait::net
