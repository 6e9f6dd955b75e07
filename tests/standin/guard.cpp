#include "standin/guard.hpp"

#include <sys/mman.h>

#include "base/check.hpp"
#include "standin/machine.hpp"

namespace strait::standin {
namespace {

constexpr int kOpen = PROT_READ | PROT_WRITE;

void protect(void* address, size_t bytes, int rights) {
  STRAIT_CHECK(mprotect(address, bytes, rights) == 0, "a mapping can be opened and closed");
}

}  // namespace

Guard& guard() {
  static auto& only = *new Guard(machine().settings.guard);
  return only;
}

void Guard::add(void* address, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!on_) return;
  ranges_[address] = bytes;
  if (running_ == 0) protect(address, bytes, PROT_NONE);
}

void Guard::remove(void* address) {
  const std::lock_guard lock(mutex_);
  ranges_.erase(address);
}

void Guard::open(const void* within) {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, bytes] : ranges_)
    if (within >= address && within < static_cast<char*>(address) + bytes)
      protect(address, bytes, kOpen);
}

void Guard::protect_all(int rights) {
  for (const auto& [address, bytes] : ranges_) protect(address, bytes, rights);
}

Guard::Running::Running() {
  Guard& all = guard();
  const std::lock_guard lock(all.mutex_);
  if (all.running_++ == 0) all.protect_all(kOpen);
}

Guard::Running::~Running() {
  Guard& all = guard();
  const std::lock_guard lock(all.mutex_);
  if (--all.running_ == 0) all.protect_all(PROT_NONE);
}

}  // namespace strait::standin
