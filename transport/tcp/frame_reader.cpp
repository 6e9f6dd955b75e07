#include "transport/tcp/frame_reader.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace strait::tcp {

FrameReader::Outcome FrameReader::read(size_t* delivered) {
  drained_ = false;
  while (true) {
    std::optional<Outcome> end;
    if (header_received_ < sizeof header_)
      end = read_header();
    else if (header_.kind == FrameKind::kReason)
      end = read_reason();
    else
      end = read_body(delivered);
    if (end) return *end;
  }
}

std::optional<FrameReader::Outcome> FrameReader::receive(std::span<std::byte> first,
                                                         std::span<std::byte> second,
                                                         size_t* count) {
  *count = 0;
  // The last call got less than it asked for: nothing is left, and asking again would only cost.
  if (drained_) return Outcome::kDrained;
  const iovec pieces[] = {{first.data(), first.size()}, {second.data(), second.size()}};
  ssize_t got = 0;
  do {
    got = fd_.receive(std::span(pieces).first(second.empty() ? 1 : 2));
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return Outcome::kDrained;
  if (const std::string problem = got < 0 ? fd_.problem() : ""; !problem.empty()) {
    failure_ =
        error(Code::kRemoteError, "the encrypted bytes of rank {} were changed on their way ({})",
              peer_, problem);
    return Outcome::kFailed;
  }
  if (got <= 0) {
    ended_errno_ = got < 0 ? errno : 0;
    ended_in_frame_ = header_received_ > 0;
    return Outcome::kEnded;
  }
  *count = static_cast<size_t>(got);
  drained_ = *count < first.size() + second.size();
  return std::nullopt;
}

std::optional<FrameReader::Outcome> FrameReader::read_header() {
  auto rest = std::as_writable_bytes(std::span(&header_, 1)).subspan(header_received_);
  size_t count = 0;
  if (const auto end = receive(rest, {}, &count)) return end;
  header_received_ += count;
  if (header_received_ < sizeof header_ || check_header()) return std::nullopt;
  return Outcome::kFailed;
}

bool FrameReader::check_header() {
  if (header_.kind == FrameKind::kReason && header_.bytes <= kReasonBytesMax) {
    reason_.resize(header_.bytes);
    return true;
  }
  if (header_.kind == FrameKind::kMessage && header_.bytes >= 1 &&
      header_.bytes <= inbox_->memory.slot_bytes() &&
      header_.sequence == static_cast<uint32_t>(next_))
    return true;
  failure_ = error(Code::kRemoteError,
                   "rank {} sent what is no frame of this link (kind {:#x}, {} bytes, message {}, "
                   "expected was message {}); something changes the bytes between the hosts",
                   peer_, static_cast<uint32_t>(header_.kind), header_.bytes, header_.sequence,
                   static_cast<uint32_t>(next_));
  return false;
}

std::optional<FrameReader::Outcome> FrameReader::read_body(size_t* delivered) {
  if (!has_room()) return Outcome::kFull;
  const auto rest = inbox_->memory.slot(next_).first(header_.bytes).subspan(body_received_);
  // The next header comes along, so that messages in a row cost one call each.
  FrameHeader following;
  size_t count = 0;
  if (const auto end = receive(rest, std::as_writable_bytes(std::span(&following, 1)), &count))
    return end;
  body_received_ += std::min(count, rest.size());
  if (count < rest.size()) return std::nullopt;
  Inbox::Entry& entry = inbox_->entry(next_);
  entry.tag = header_.tag;
  entry.bytes.store(header_.bytes, std::memory_order_release);
  ++*delivered;
  next_ += stride_;
  body_received_ = 0;
  header_ = following;
  header_received_ = count - rest.size();
  if (header_received_ < sizeof header_ || check_header()) return std::nullopt;
  return Outcome::kFailed;
}

std::optional<FrameReader::Outcome> FrameReader::read_reason() {
  if (body_received_ < reason_.size()) {
    size_t count = 0;
    const auto rest = std::span(reason_).subspan(body_received_);
    if (const auto end = receive(rest, {}, &count)) return end;
    body_received_ += count;
    if (body_received_ < reason_.size()) return std::nullopt;
  }
  failure_ = peer_reason(peer_, reason_);
  return Outcome::kFailed;
}

}  // namespace strait::tcp
