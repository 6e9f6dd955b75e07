// Ordered loads and stores of flags that other blocks, other GPUs or the host read: PTX's memory
// model on the GPU, std::atomic_ref on a CPU. Part of base/device.cuh; for any thread of a kernel.
// Loads are what loops wait in, so that the SIMT layer takes them as its chance to let others run.
#pragma once

#include <cstdint>

namespace strait::device {

#if defined(STRAIT_SIMT)

namespace order {
template <class T>
T load(const T* address, std::memory_order order) {
  simt::poll_begin();
  const T value = std::atomic_ref<T>(*const_cast<T*>(address)).load(order);
  simt::poll_end(address, value);
  return value;
}
template <class T>
void store(T* address, T value, std::memory_order order) {
  std::atomic_ref<T>(*address).store(value, order);
  simt::progress();
}
}  // namespace order

#define STRAIT_DEVICE_LOAD(name, scope, ordering)              \
  inline uint32_t name(const uint32_t* address) {              \
    return order::load(address, std::memory_order_##ordering); \
  }                                                            \
  inline uint64_t name(const uint64_t* address) {              \
    return order::load(address, std::memory_order_##ordering); \
  }
#define STRAIT_DEVICE_STORE(name, scope, ordering)              \
  inline void name(uint32_t* address, uint32_t value) {         \
    order::store(address, value, std::memory_order_##ordering); \
  }                                                             \
  inline void name(uint64_t* address, uint64_t value) {         \
    order::store(address, value, std::memory_order_##ordering); \
  }

#else

// "memory" keeps the compiler from moving other accesses across; the instruction keeps the machine.
#define STRAIT_DEVICE_LOAD(name, scope, ordering)                     \
  __device__ __forceinline__ uint32_t name(const uint32_t* address) { \
    uint32_t value;                                                   \
    asm volatile("ld." #ordering "." #scope ".u32 %0, [%1];"          \
                 : "=r"(value)                                        \
                 : "l"(address)                                       \
                 : "memory");                                         \
    return value;                                                     \
  }                                                                   \
  __device__ __forceinline__ uint64_t name(const uint64_t* address) { \
    uint64_t value;                                                   \
    asm volatile("ld." #ordering "." #scope ".u64 %0, [%1];"          \
                 : "=l"(value)                                        \
                 : "l"(address)                                       \
                 : "memory");                                         \
    return value;                                                     \
  }
#define STRAIT_DEVICE_STORE(name, scope, ordering)                                      \
  __device__ __forceinline__ void name(uint32_t* address, uint32_t value) {             \
    asm volatile("st." #ordering "." #scope ".u32 [%0], %1;" ::"l"(address), "r"(value) \
                 : "memory");                                                           \
  }                                                                                     \
  __device__ __forceinline__ void name(uint64_t* address, uint64_t value) {             \
    asm volatile("st." #ordering "." #scope ".u64 [%0], %1;" ::"l"(address), "l"(value) \
                 : "memory");                                                           \
  }

#endif

// Everything that the storer did before a release is seen by who acquires what it stored. `system`
// reaches other GPUs and the host, `device` the other blocks of this GPU.
STRAIT_DEVICE_LOAD(load_acquire_system, sys, acquire)
STRAIT_DEVICE_LOAD(load_acquire_device, gpu, acquire)
STRAIT_DEVICE_STORE(store_release_system, sys, release)
STRAIT_DEVICE_STORE(store_release_device, gpu, release)
// Indivisible and never from a stale cache, but ordering nothing: for polls before an acquire, and
// for words that carry their own meaning.
STRAIT_DEVICE_LOAD(load_relaxed, sys, relaxed)
STRAIT_DEVICE_STORE(store_relaxed, sys, relaxed)

#undef STRAIT_DEVICE_LOAD
#undef STRAIT_DEVICE_STORE

}  // namespace strait::device
