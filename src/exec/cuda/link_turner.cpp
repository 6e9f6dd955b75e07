#include "exec/cuda/link_turner.hpp"

namespace strait {

void TurnerTerms::count(SendPort& port, const MarkedRing& ring,
                        const MarkedRing::Posted& posted) const {
  if (!edge.kernel_encodes(posted.type)) return;
  count_coded(port, *traffic, posted.value_bytes, posted.bytes);
  if (!posted.mode) return;
  port.policy.encoded(posted.type, *posted.mode, posted.value_bytes, posted.bytes, posted.took_ns);
  ring.set_mode(next_mode(port, posted.type));
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
