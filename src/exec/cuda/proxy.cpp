#include "exec/cuda/proxy.hpp"

namespace strait {

Proxy::Duty* Proxy::add(std::unique_ptr<LinkTurner> turner) {
  std::lock_guard lock(mutex_);
  Duty& duty = duties_.emplace_back();
  duty.turner = std::move(turner);
  return &duty;
}

void Proxy::clear() {
  std::lock_guard lock(mutex_);
  duties_.clear();
}

void Proxy::expect(const std::vector<Load>& loads) {
  for (const Load& load : loads)
    load.duty->expected.fetch_add(load.messages, std::memory_order_release);
}

Result<uint64_t> Proxy::turn() {
  std::lock_guard lock(mutex_);
  uint64_t moved = 0;
  for (Duty& duty : duties_) {
    const uint64_t due = duty.expected.load(std::memory_order_acquire) - duty.completed;
    if (due == 0) continue;
    STRAIT_ASSIGN(const LinkTurner::Turn turn, duty.turner->turn(due));
    duty.completed += turn.completed;
    moved += turn.moved ? 1 : 0;
  }
  return moved;
}

bool Proxy::idle() {
  std::lock_guard lock(mutex_);
  for (Duty& duty : duties_)
    if (duty.completed != duty.expected.load(std::memory_order_acquire)) return false;
  return true;
}

}  // namespace strait
