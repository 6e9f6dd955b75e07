#include "exec/cuda/link_turner.hpp"

namespace strait {

Status TurnerTerms::count(SendPort& port, DataType type, std::span<const std::byte> message) const {
  if (!edge.kernel_encodes(type)) return Status();
  STRAIT_ASSIGN(const codec::ChunkInfo chunk, codec::inspect(message));
  count_coded(port, *traffic, chunk.count * size_of(chunk.type), message.size());
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
