// Rma of a rank on a GPU: calls go into streams, and the agent sends on what the GPU cannot bring
// to a peer itself.

#include <cstring>

#include "comm/rma.hpp"

namespace strait {
namespace {

// Kernels cannot ring a doorbell, so the agent looks again and again while they run.
constexpr int64_t kPutTurnNs = 20'000;
constexpr int64_t kWaitTurnNs = 2'000'000;
constexpr int64_t kIdleTurnNs = 200'000'000;
constexpr int64_t kWaitsLookNs = 20'000'000;

}  // namespace

Status Rma::queue_puts(const std::vector<RmaCall>& calls, cuda::StreamHandle stream) {
  for (const RmaCall& call : calls) {
    if (call.is_wait()) continue;
    GpuOneSided::Put put{.source = call.source,
                         .bytes = call.bytes,
                         .target = nullptr,
                         .mapping = nullptr,
                         .window = call.window,
                         .offset = call.offset};
    if (call.bytes > 0 && call.to.peer == terms_.rank) {
      put.target = windows_.base(call.window) + call.offset;
    } else if (call.bytes > 0 && terms_.gpu->reaches(call.to.peer)) {
      const PeerWindow window = windows_.peer(call.window, call.to.peer);
      STRAIT_CHECK(window.mapping != nullptr, "a window is mapped before it has a name");
      put.target = window.mapping->data() + window.mapping_offset + call.offset;
      put.mapping = window.mapping;
    }
    STRAIT_TRY(terms_.gpu->put(put, call.to, stream));
  }
  return Status();
}

Status Rma::queue_waits(const std::vector<RmaCall>& calls, cuda::StreamHandle stream) {
  for (const RmaCall& call : calls)
    if (call.is_wait()) STRAIT_TRY(terms_.gpu->wait(call.waits, stream));
  return Status();
}

// Puts that are queued may still use the mappings.
void Rma::remove_window(uint32_t number) {
  for (PeerWindow& peer : windows_.remove(number))
    if (peer.mapping != nullptr) terms_.gpu->retire(std::move(peer.mapping));
}

int64_t Rma::turn_ns() const {
  if (!terms_.gpu || !terms_.gpu->busy()) return kIdleTurnNs;
  return terms_.gpu->has_puts() ? kPutTurnNs : kWaitTurnNs;
}

// Waits for no peer: a message whose link has no room stays where it is, and what comes from the
// peers is taken meanwhile.
bool Rma::send_on() {
  bool moved = false;
  while (const auto next = terms_.gpu->outgoing()) {
    SendLink& link = *peers_[static_cast<size_t>(next->peer)]->send;
    const std::span<std::byte> slot = link.send_slot();
    if (slot.empty()) {
      if (const Status status = link.status(); !status.ok() && terms_.stopped().ok())
        terms_.fail(status.at(fmt::format("a put to rank {}", next->peer)));
      return moved;
    }
    std::memcpy(slot.data(), &next->header, sizeof next->header);
    std::memcpy(slot.data() + sizeof next->header, next->bytes.data(), next->bytes.size());
    link.commit(sizeof next->header + next->bytes.size(), kRmaTag);
    terms_.gpu->sent();
    moved = true;
  }
  return moved;
}

void Rma::look_at_waits() {
  const int64_t now = now_ns();
  if (!terms_.gpu->busy() || now - waits_seen_ns_ < kWaitsLookNs) return;
  waits_seen_ns_ = now;
  const Status status = terms_.gpu->look_at_waits([this](int peer) { return why_not(peer); });
  if (!status.ok() && terms_.stopped().ok()) terms_.fail(status);
}

}  // namespace strait
