#include "exec/cuda/link_turner.hpp"

namespace strait {

Status TurnerTerms::count(SendPort& port, const MarkedRing& ring, const MarkedRing::Posted& posted,
                          std::span<const std::byte> message) const {
  if (!edge.kernel_encodes(posted.type)) return Status();
  STRAIT_ASSIGN(const codec::ChunkInfo chunk, codec::inspect(message));
  const size_t value_bytes = chunk.count * size_of(chunk.type);
  count_coded(port, *traffic, value_bytes, message.size());
  if (!posted.mode) return Status();
  port.policy.encoded(posted.type, *posted.mode, value_bytes, message.size(), posted.took_ns);
  ring.set_mode(next_mode(port, posted.type));
  return Status();
}

Result<Message> look_for(RecvLink& link, uint32_t ahead) {
  Message message = link.peek(ahead);
  if (!message.bytes.empty()) return message;
  // A peer may send its last message and leave: look again before believing the failure.
  const Status status = link.status();
  if (status.ok()) return message;
  message = link.peek(ahead);
  if (message.bytes.empty()) return status;
  return message;
}

}  // namespace strait
