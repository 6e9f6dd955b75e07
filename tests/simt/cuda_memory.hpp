// CUDA's cached and streaming loads and stores, fences, clocks and __nanosleep. Caches are the
// host's own affair, so that loads and stores are plain ones. For any thread of a kernel; a clock
// or a sleep lets the other threads of the block run first.
#pragma once

#include <atomic>
#include <cstdint>

#include "here.hpp"

template <class T>
T __ldg(const T* address) {
  return *address;
}
template <class T>
T __ldca(const T* address) {
  return *address;
}
template <class T>
T __ldcg(const T* address) {
  return *address;
}
template <class T>
T __ldcs(const T* address) {
  return *address;
}
template <class T>
T __ldlu(const T* address) {
  return *address;
}
template <class T>
void __stcg(T* address, const T& value) {
  *address = value;
}
template <class T>
void __stcs(T* address, const T& value) {
  *address = value;
}
template <class T>
void __stwb(T* address, const T& value) {
  *address = value;
}
template <class T>
void __stwt(T* address, const T& value) {
  *address = value;
}

inline void __threadfence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void __threadfence_block() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void __threadfence_system() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

inline void __nanosleep(unsigned) {
  strait::simt::pause();
}

namespace strait::simt {
// Nanoseconds of the monotonic clock; a poll, since programs wait in loops of it.
uint64_t read_clock();
}  // namespace strait::simt

inline long long clock64() {
  return static_cast<long long>(strait::simt::read_clock());
}
