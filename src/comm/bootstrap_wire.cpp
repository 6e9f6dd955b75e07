#include "comm/bootstrap_wire.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace strait {

Packer& Packer::bytes(std::span<const std::byte> value) {
  number<uint64_t>(value.size());
  bytes_.insert(bytes_.end(), value.begin(), value.end());
  return *this;
}

Packer& Packer::hello(const Hello& value) {
  text(value.version);
  number<uint32_t>(static_cast<uint32_t>(value.settings.size()));
  for (const auto& [key, setting] : value.settings) text(key).text(setting);
  return text(value.host).number<int64_t>(value.pid).bytes(value.payload);
}

Packer& Packer::join_request(const JoinRequest& value) {
  number<int32_t>(value.rank).number<int32_t>(value.rank_count).number<int64_t>(value.limit_ms);
  number<uint32_t>(static_cast<uint32_t>(value.members.size()));
  for (const int member : value.members) number<int32_t>(member);
  return hello(value.hello);
}

Packer& Packer::status(const Status& value) {
  return number<int32_t>(static_cast<int32_t>(value.code())).text(value.message());
}

std::span<const std::byte> Unpacker::take(size_t count) {
  ok_ = ok_ && count <= rest_.size();
  if (!ok_) return {};
  const auto result = rest_.first(count);
  rest_ = rest_.subspan(count);
  return result;
}

std::vector<std::byte> Unpacker::bytes() {
  const auto raw = take(number<uint64_t>());
  return {raw.begin(), raw.end()};
}

std::string Unpacker::text() {
  const auto raw = take(number<uint64_t>());
  return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

Hello Unpacker::hello() {
  Hello result;
  result.version = text();
  const auto count = number<uint32_t>();
  for (uint32_t i = 0; i < count && ok_; ++i) {
    std::string key = text();
    result.settings[std::move(key)] = text();
  }
  result.host = text();
  result.pid = number<int64_t>();
  result.payload = bytes();
  return result;
}

JoinRequest Unpacker::join_request() {
  JoinRequest result;
  result.rank = number<int32_t>();
  result.rank_count = number<int32_t>();
  result.limit_ms = number<int64_t>();
  const auto count = number<uint32_t>();
  for (uint32_t i = 0; i < count && ok_; ++i) result.members.push_back(number<int32_t>());
  result.hello = hello();
  return result;
}

Status Unpacker::status() {
  const auto code = number<int32_t>();
  std::string message = text();
  const bool known =
      code > static_cast<int32_t>(Code::kOk) && code <= static_cast<int32_t>(Code::kTimeout);
  if (!ok_ || !known) return error(Code::kRemoteError, "a rank failed without saying why");
  return Status(static_cast<Code>(code), std::move(message));
}

FrameChannel::FrameChannel(net::Stream fd, const net::Hash& session, End end)
    : fd_(std::move(fd)), session_(session), end_(end) {}

net::Hash FrameChannel::hash_of(End sender, uint64_t sequence, const Header& header,
                                std::span<const std::byte> body) const {
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(&sequence, 1)),
                                               std::as_bytes(std::span(&header.body_bytes, 1)),
                                               std::as_bytes(std::span(&header.type, 1)), body};
  return net::keyed_hash(session_, sender == End::kRank ? "rank's frame" : "root's frame", pieces);
}

Status FrameChannel::send(FrameType type, std::span<const std::byte> body) {
  const size_t limit = end_ == End::kRank ? kBytesMax + (1 << 20) : kAllBytesMax;
  if (body.size() > limit)
    return error(Code::kInvalidArgument,
                 "{} bytes are too many for a message of the bootstrap; {} is the limit",
                 body.size(), limit);
  Header header{.body_bytes = static_cast<uint32_t>(body.size()), .type = type, .hash = {}};
  header.hash = hash_of(end_, sent_frames_++, header, body);
  const auto raw = std::as_bytes(std::span(&header, 1));
  output_.insert(output_.end(), raw.begin(), raw.end());
  output_.insert(output_.end(), body.begin(), body.end());
  return flush();
}

Status FrameChannel::flush() {
  while (wants_write()) {
    const ssize_t count = fd_.send(std::span<const std::byte>(output_).subspan(sent_));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return Status();
    if (count < 0) return system_error("the connection was closed").at("bootstrap");
    sent_ += static_cast<size_t>(count);
  }
  output_.clear();
  sent_ = 0;
  return Status();
}

Result<bool> FrameChannel::fill(std::span<std::byte> target) {
  while (received_ < target.size()) {
    const auto rest = target.subspan(received_);
    const ssize_t count = fd_.receive(rest);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return false;
    if (const std::string problem = count < 0 ? fd_.problem() : ""; !problem.empty())
      return error(Code::kRemoteError, "encrypted bytes were changed on their way ({})", problem);
    if (count <= 0) return error(Code::kRemoteError, "the connection was closed");
    received_ += static_cast<size_t>(count);
  }
  received_ = 0;
  return true;
}

Result<std::optional<Frame>> FrameChannel::next() {
  if (!header_complete_) {
    STRAIT_ASSIGN(header_complete_, fill(std::as_writable_bytes(std::span(&header_, 1))));
    if (!header_complete_) return std::optional<Frame>();
    const size_t limit = end_ == End::kRoot ? kBytesMax + (1 << 20) : kAllBytesMax;
    if (header_.body_bytes > limit)
      return error(Code::kRemoteError,
                   "a message of the bootstrap claims {} bytes, {} is the limit",
                   header_.body_bytes, limit);
    body_.resize(header_.body_bytes);
  }
  STRAIT_ASSIGN(const bool complete, fill(body_));
  if (!complete) return std::optional<Frame>();
  header_complete_ = false;
  const End sender = end_ == End::kRank ? End::kRoot : End::kRank;
  if (!net::equal_hash(hash_of(sender, received_frames_++, header_, body_), header_.hash))
    return error(Code::kRemoteError, "a message of the bootstrap was changed on its way");
  return std::optional<Frame>(Frame{.type = header_.type, .body = std::exchange(body_, {})});
}

}  // namespace strait
