// A place in shared memory, of a thread or a warp, by its 32-bit address: compilers make the
// address anew from the block's each time that they are given a pointer. What is kept so is reached
// in no other way. Device code; any thread; one instruction for each access.
#pragma once

#include <cstdint>

#include "base/device.cuh"

namespace strait::codec::gpu {

// The same object, which is in shared memory: functions that are not in line do not know it, and
// would reach it in more instructions.
template <class T>
__device__ __forceinline__ T& in_shared(T& object) {
#if defined(STRAIT_SIMT)
  return object;
#else
  auto at = static_cast<uint32_t>(__cvta_generic_to_shared(&object));
  asm("" : "+r"(at));  // or compilers take the two casts for none
  return *static_cast<T*>(__cvta_shared_to_generic(at));
#endif
}

#if defined(STRAIT_SIMT)

class SharedPlace {
 public:
  SharedPlace() = default;
  __device__ explicit SharedPlace(void* at) : at_(static_cast<unsigned char*>(at)) {}
  __device__ uint32_t word(uint32_t byte) const { return *reinterpret_cast<uint32_t*>(at_ + byte); }
  __device__ void put_word(uint32_t byte, uint32_t value) const {
    *reinterpret_cast<uint32_t*>(at_ + byte) = value;
  }
  __device__ uint32_t byte(uint32_t byte) const { return at_[byte]; }
  __device__ void put_byte(uint32_t byte, uint32_t value) const {
    at_[byte] = static_cast<unsigned char>(value);
  }
  __device__ void words(uint32_t (&four)[4]) const { memcpy(four, at_, sizeof four); }
  __device__ void put_words(const uint32_t (&four)[4]) const { memcpy(at_, four, sizeof four); }

 private:
  unsigned char* at_ = nullptr;
};

#else

class SharedPlace {
 public:
  SharedPlace() = default;
  __device__ __forceinline__ explicit SharedPlace(void* at)
      : at_(static_cast<uint32_t>(__cvta_generic_to_shared(at))) {}
  __device__ __forceinline__ uint32_t word(uint32_t byte) const {
    uint32_t value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(at_ + byte));
    return value;
  }
  __device__ __forceinline__ void put_word(uint32_t byte, uint32_t value) const {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(at_ + byte), "r"(value));
  }
  __device__ __forceinline__ uint32_t byte(uint32_t byte) const {
    uint32_t value;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(value) : "r"(at_ + byte));
    return value;
  }
  __device__ __forceinline__ void put_byte(uint32_t byte, uint32_t value) const {
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(at_ + byte), "r"(value));
  }
  // Four words, at a multiple of 16.
  __device__ __forceinline__ void words(uint32_t (&four)[4]) const {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(four[0]), "=r"(four[1]), "=r"(four[2]), "=r"(four[3])
                 : "r"(at_));
  }
  __device__ __forceinline__ void put_words(const uint32_t (&four)[4]) const {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(at_), "r"(four[0]), "r"(four[1]),
                 "r"(four[2]), "r"(four[3]));
  }

 private:
  uint32_t at_ = 0;
};

#endif

}  // namespace strait::codec::gpu
