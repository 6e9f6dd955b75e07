// The bootstrap's messages: packing of values into bytes, and a channel of authenticated frames
// over one connection. Each frame carries a keyed hash over its direction, its place in the
// sequence and its content, under the key of its connection: nobody on the way can add, change,
// repeat or swap frames. Nothing here blocks; one thread at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "comm/agreement.hpp"
#include "comm/bootstrap_members.hpp"
#include "transport/net/handshake.hpp"
#include "transport/net/stream.hpp"

namespace strait {

class Packer {
 public:
  template <class T>
  Packer& number(T value) {
    const size_t place = bytes_.size();
    bytes_.resize(place + sizeof value);
    std::memcpy(bytes_.data() + place, &value, sizeof value);
    return *this;
  }
  Packer& bytes(std::span<const std::byte> value);
  Packer& text(std::string_view value) { return bytes(std::as_bytes(std::span(value))); }
  Packer& hello(const Hello& value);
  Packer& join_request(const JoinRequest& value);
  Packer& status(const Status& value);
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads what Packer wrote; never past the end: then ok() is false and every value empty.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <class T>
  T number() {
    T value{};
    const auto raw = take(sizeof value);
    if (raw.size() == sizeof value) std::memcpy(&value, raw.data(), sizeof value);
    return value;
  }
  std::vector<std::byte> bytes();
  std::string text();
  Hello hello();
  JoinRequest join_request();
  Status status();  // a failure; one that says so when the bytes hold none
  bool ok() const { return ok_; }

 private:
  std::span<const std::byte> take(size_t count);

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

enum class FrameType : uint32_t {
  kJoin = 1,     // to the root: join request
  kWelcome = 2,  // from the root: nonce of this communicator, the hellos of all ranks
  kRound = 3,    // to the root: round number, limit in ms, bytes
  kResult = 4,   // from the root: round number, the bytes of all ranks
  kFail = 5,     // either way: status
  kLeave = 6,    // to the root: nothing more will come
};

struct Frame {
  FrameType type = FrameType::kLeave;
  std::vector<std::byte> body;
};

class FrameChannel {
 public:
  static constexpr size_t kBytesMax = 16 << 20;    // of what a rank says
  static constexpr size_t kAllBytesMax = 1 << 30;  // of what all ranks say together

  enum class End { kRank, kRoot };

  FrameChannel(net::Stream fd, const net::Hash& session, End end);

  int fd() const { return fd_.get(); }
  // Queues a frame and sends what the connection takes now.
  Status send(FrameType type, std::span<const std::byte> body);
  // Sends more of what is queued.
  Status flush();
  bool wants_write() const { return sent_ < output_.size(); }
  // The next frame; none while it has not arrived completely. kRemoteError when the connection
  // ended.
  Result<std::optional<Frame>> next();

 private:
  struct Header {
    uint32_t body_bytes = 0;
    FrameType type = FrameType::kLeave;
    net::Hash hash{};
  };

  net::Hash hash_of(End sender, uint64_t sequence, const Header& header,
                    std::span<const std::byte> body) const;
  // True when `target` is filled up to its end.
  Result<bool> fill(std::span<std::byte> target);

  net::Stream fd_;
  net::Hash session_;
  End end_;
  uint64_t sent_frames_ = 0;
  uint64_t received_frames_ = 0;
  std::vector<std::byte> output_;
  size_t sent_ = 0;
  Header header_;
  bool header_complete_ = false;
  std::vector<std::byte> body_;
  size_t received_ = 0;  // of the header, then of the body
};

}  // namespace strait
