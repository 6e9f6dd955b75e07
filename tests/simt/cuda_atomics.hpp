// CUDA's atomics on 32 and 64 bits (and sums of float and double), on shared and global memory, in
// their three scopes, which are one here. As on the GPU they order nothing else. For any thread;
// each costs one locked instruction. An atomic that changed nothing counts as a poll, so that a
// loop around it lets others run.
#pragma once

#include <atomic>
#include <type_traits>

#include "here.hpp"

namespace strait::simt {

template <class T>
inline constexpr bool kAtomic = std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8) &&
                                !std::is_same_v<T, bool>;

// Replaces *address by what next makes of it; gives what was there.
template <class T, class Next>
T change(T* address, Next next) {
  static_assert(kAtomic<T>, "CUDA has atomics on 4 and 8 bytes");
  std::atomic_ref<T> cell(*address);
  poll_begin();
  T old = cell.load(std::memory_order_relaxed);
  T wanted = next(old);
  while (!cell.compare_exchange_weak(old, wanted, std::memory_order_relaxed)) wanted = next(old);
  if (wanted == old) {
    poll_end(address, 0);
  } else {
    progress();
  }
  return old;
}

}  // namespace strait::simt

// The value is of any type that converts, as with CUDA's overloads.
#define STRAIT_SIMT_ATOMIC(name, expression)                                          \
  template <class T>                                                                  \
  T name(T* address, std::type_identity_t<T> value) {                                 \
    return strait::simt::change(address, [value](T old) -> T { return expression; }); \
  }                                                                                   \
  template <class T>                                                                  \
  T name##_block(T* address, std::type_identity_t<T> value) {                         \
    return name(address, value);                                                      \
  }                                                                                   \
  template <class T>                                                                  \
  T name##_system(T* address, std::type_identity_t<T> value) {                        \
    return name(address, value);                                                      \
  }
STRAIT_SIMT_ATOMIC(atomicAdd, static_cast<T>(old + value))
STRAIT_SIMT_ATOMIC(atomicSub, static_cast<T>(old - value))
STRAIT_SIMT_ATOMIC(atomicMin, value < old ? value : old)
STRAIT_SIMT_ATOMIC(atomicMax, old < value ? value : old)
STRAIT_SIMT_ATOMIC(atomicAnd, old& value)
STRAIT_SIMT_ATOMIC(atomicOr, old | value)
STRAIT_SIMT_ATOMIC(atomicXor, old ^ value)
STRAIT_SIMT_ATOMIC(atomicExch, (static_cast<void>(old), value))
STRAIT_SIMT_ATOMIC(atomicInc, old >= value ? T{0} : static_cast<T>(old + 1))
STRAIT_SIMT_ATOMIC(atomicDec, old == 0 || old > value ? value : static_cast<T>(old - 1))
#undef STRAIT_SIMT_ATOMIC

template <class T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return strait::simt::change(address, [=](T old) -> T { return old == expected ? value : old; });
}
template <class T>
T atomicCAS_block(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return atomicCAS(address, expected, value);
}
template <class T>
T atomicCAS_system(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return atomicCAS(address, expected, value);
}
