// What travels over the connections of a link: frames of one header and its bytes. Where the
// connection carries the messages too (TCP), they go round-robin over the link's connections by
// their sequence number, so each side knows which connection carries the next one. Either side may
// send a reason when it aborts. Pure functions but for send_reason(); any thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "transport/net/handshake.hpp"
#include "transport/net/stream.hpp"
#include "transport/transport.hpp"

namespace strait::net {

enum class FrameKind : uint32_t {
  kMessage = 0x7463'0001,
  kReason = 0x7463'0002,
  kSide = 0x7463'0003,   // the receiver's end of what carries messages elsewhere (verbs, ucx)
  kLeave = 0x7463'0004,  // who leaves says how many came through: the sender, the receiver (ucx)
};

struct FrameHeader {
  FrameKind kind = FrameKind::kMessage;
  uint32_t bytes = 0;
  uint32_t tag = 0;       // of a message; the code of a reason
  uint32_t sequence = 0;  // of a message, from 0, the same counting over all connections
};
static_assert(sizeof(FrameHeader) == 16);

inline constexpr size_t kReasonBytesMax = 4096;

// What the sender says of the link in the handshake of each connection; the rest of the handshake's
// note is its transport's own.
struct LinkNote {
  uint32_t lane = 0;
  uint32_t slots = 0;
  uint64_t slot_bytes = 0;
  uint16_t index = 0;  // of this connection among those of the link
  uint16_t count = 0;
  uint32_t reserved = 0;
  uint64_t attempt = 0;  // random: connections of one connect() belong together
};
inline constexpr size_t kLinkNoteBytes = 32;
static_assert(sizeof(LinkNote) == kLinkNoteBytes && kLinkNoteBytes <= sizeof(Note));

// One frame that tells the peer why the link fails.
std::vector<std::byte> reason_frame(const Status& why);
// The peer's reason as this side reports it: "rank 3: <reason>".
Status peer_reason(int peer, std::span<const std::byte> text);
// The peer's end of a connection is gone: closed, or its host does not answer (by errno).
Status connection_ended(const LinkSpec& spec, int peer, const std::string& remote, int number);
// Sends it without waiting; a peer that cannot take it learns of the failure when the connection
// closes.
void send_reason(Stream& stream, const Status& why);

}  // namespace strait::net
