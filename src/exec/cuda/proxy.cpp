#include "exec/cuda/proxy.hpp"

#include <cstring>

namespace strait {

Proxy::Duty* Proxy::add(StagedRing ring, SendPort* send, RecvLink* recv, EdgeKind edge) {
  std::lock_guard lock(mutex_);
  Duty& duty = duties_.emplace_back();
  duty.ring = std::move(ring);
  duty.send = send;
  duty.recv = recv;
  duty.edge = edge;
  return &duty;
}

void Proxy::expect(const std::vector<Load>& loads) {
  for (const Load& load : loads)
    load.duty->expected.fetch_add(load.messages, std::memory_order_release);
}

Result<uint64_t> Proxy::turn() {
  std::lock_guard lock(mutex_);
  uint64_t moved = 0;
  for (Duty& duty : duties_) {
    if (duty.moved == duty.expected.load(std::memory_order_acquire)) continue;
    STRAIT_ASSIGN(const bool did, duty.send != nullptr ? pass_on(duty) : hand_over(duty));
    if (!did) continue;
    ++duty.moved;
    ++moved;
  }
  return moved;
}

bool Proxy::idle() {
  std::lock_guard lock(mutex_);
  for (Duty& duty : duties_)
    if (duty.moved != duty.expected.load(std::memory_order_acquire)) return false;
  return true;
}

Result<bool> Proxy::pass_on(Duty& duty) {
  StagedRing::Posted posted;
  if (!duty.ring.look(&posted)) return false;
  SendPort& port = *duty.send;
  const std::span<std::byte> slot = port.take();
  if (slot.empty()) {
    STRAIT_TRY(port.link->status());
    return false;
  }
  size_t bytes = posted.bytes.size();
  const auto type = static_cast<DataType>(posted.type);
  const bool by_kernel = duty.edge.by_kernels && is_float(type);
  if (duty.edge.coded && !by_kernel) {
    bytes = encode_into_slot(port, *traffic_, coding_, type, posted.bytes.data(),
                             bytes / size_of(type));
  } else {
    STRAIT_CHECK(bytes <= slot.size(), "a piece fits its slot");
    std::memcpy(slot.data(), posted.bytes.data(), bytes);
    if (by_kernel) {
      STRAIT_ASSIGN(const codec::ChunkInfo chunk, codec::inspect(posted.bytes));
      count_coded(port, *traffic_, chunk.count * size_of(chunk.type), bytes);
    }
  }
  port.commit(bytes, posted.tag);
  duty.ring.release();
  return true;
}

Result<bool> Proxy::hand_over(Duty& duty) {
  if (!duty.ring.has_room()) return false;
  const Message message = duty.recv->recv_slot();
  if (message.bytes.empty()) {
    // A peer may send its last message and leave: look again before believing the failure.
    const Status status = duty.recv->status();
    if (status.ok() || !duty.recv->recv_slot().bytes.empty()) return false;
    return status;
  }
  const std::span<std::byte> slot = duty.ring.slot();
  size_t bytes = message.bytes.size();
  codec::ChunkInfo chunk;
  if (duty.edge.coded) {
    STRAIT_ASSIGN(chunk, codec::inspect(message.bytes));
  }
  const bool decodes = duty.edge.coded && !(duty.edge.by_kernels && is_float(chunk.type));
  if (decodes) bytes = chunk.count * size_of(chunk.type);
  if (bytes > slot.size())
    return error(Code::kInvalidUsage,
                 "a message of {} bytes does not fit a slot of {}: all ranks need the same "
                 "STRAIT_SLOT_BYTES",
                 bytes, slot.size());
  if (!duty.recv->pin()) return duty.recv->status();
  if (decodes)
    STRAIT_TRY(codec::decode(message.bytes, chunk.type, chunk.count, slot.data()));
  else
    std::memcpy(slot.data(), message.bytes.data(), bytes);
  duty.ring.post(bytes, message.tag);
  duty.recv->release();
  return true;
}

}  // namespace strait
