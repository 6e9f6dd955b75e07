#include "simt/context.hpp"

#include <pthread.h>

#include <cstdint>
#include <cstring>

#if STRAIT_SIMT_ASAN
#include <sanitizer/asan_interface.h>
#endif

#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.hidden strait_simt_switch
.globl strait_simt_switch
.type strait_simt_switch, @function
strait_simt_switch:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size strait_simt_switch, . - strait_simt_switch
)");
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.hidden strait_simt_switch
.globl strait_simt_switch
.type strait_simt_switch, %function
strait_simt_switch:
  hint #34
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size strait_simt_switch, . - strait_simt_switch
)");
#else
#error "the SIMT layer needs a stack switch for this processor: add one here"
#endif

namespace strait::simt {
namespace {

#if defined(__x86_64__)
// Six registers, the address to jump to, and in place of a return address a zero that ends traces.
constexpr size_t kFrameWords = 8;
constexpr size_t kEntryWord = 6;
#else
constexpr size_t kFrameWords = 20;
constexpr size_t kEntryWord = 11;
#endif

}  // namespace

Context own_context() {
  Context context;
#if STRAIT_SIMT_ASAN
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* bottom = nullptr;
    pthread_attr_getstack(&attributes, &bottom, &context.bytes);
    context.bottom = static_cast<unsigned char*>(bottom);
    pthread_attr_destroy(&attributes);
  }
#endif
  return context;
}

void make_context(Context& context, unsigned char* bottom, size_t bytes, size_t skip,
                  void (*entry)()) {
#if STRAIT_SIMT_ASAN
  // What ran here before may have been dropped in the middle, with its red zones in place.
  __asan_unpoison_memory_region(bottom, bytes);
#endif
  auto end = reinterpret_cast<uintptr_t>(bottom + bytes - skip) & ~uintptr_t{15};
  auto* frame = reinterpret_cast<void**>(end) - kFrameWords;
  std::memset(frame, 0, kFrameWords * sizeof(void*));
  frame[kEntryWord] = reinterpret_cast<void*>(entry);
  context = {frame, bottom, bytes, nullptr};
}

void entered() {
#if STRAIT_SIMT_ASAN
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

void leave_for(Context& to) {
#if STRAIT_SIMT_ASAN
  __sanitizer_start_switch_fiber(nullptr, to.bottom, to.bytes);
#endif
  void* nowhere = nullptr;
  strait_simt_switch(&nowhere, to.top);
  __builtin_unreachable();
}

}  // namespace strait::simt
