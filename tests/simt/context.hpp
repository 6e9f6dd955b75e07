// A stack that something runs on, and the switch from one to another: what a fibre is made of.
// Owned by the OS thread that switches; contexts never move to another. A switch costs 2 to 3 ns,
// and under the address sanitizer, which must be told of it, some 50.
#pragma once

#include <cstddef>

#include "simt/sanitizer.hpp"

#if STRAIT_SIMT_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

// Pushes what a callee must keep, stores the stack pointer to *from, takes `to` as stack pointer,
// and pops again. The processor predicts that it returns to its caller, and so it mostly does: the
// other fibre left from the same place.
extern "C" void strait_simt_switch(void** from, void* to);

namespace strait::simt {

struct Context {
  void* top = nullptr;  // where its registers are, while it does not run
  unsigned char* bottom = nullptr;
  size_t bytes = 0;
  void* fake_stack = nullptr;  // the sanitizer's
};

// What runs now, on the stack that the system gave to this OS thread.
Context own_context();

// A context that will start in entry, which must call entered() first and never return. Skips some
// bytes at the top of the stack: when all stacks are used at the same offsets, they fight for the
// same lines of the cache.
void make_context(Context& context, unsigned char* bottom, size_t bytes, size_t skip,
                  void (*entry)());
void entered();

// Returns when somebody switches back. In the header, as it is most of what a kernel costs here.
inline void switch_context(Context& from, Context& to) {
#if STRAIT_SIMT_ASAN
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.bytes);
  strait_simt_switch(&from.top, to.top);
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#else
  strait_simt_switch(&from.top, to.top);
#endif
}
// Never to be switched back to.
[[noreturn]] void leave_for(Context& to);

}  // namespace strait::simt
