// DefaultFloatMode: while it lives, this thread rounds to nearest and keeps subnormal numbers,
// whatever the application asked of its threads (flush-to-zero is common in machine learning), so
// that the bits of a sum do not depend on who computes it. One thread, one scope. Costs a register
// read; a write only where the mode differs.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace strait::reduce {

class DefaultFloatMode {
 public:
#if defined(__x86_64__)
  DefaultFloatMode() : saved_(_mm_getcsr()) {
    if ((saved_ & kModes) != kMasked) _mm_setcsr((saved_ & ~kModes) | kMasked);
  }
  ~DefaultFloatMode() {
    if ((saved_ & kModes) != kMasked) _mm_setcsr(saved_);
  }

 private:
  // Flush-to-zero, rounding, exception masks, denormals-are-zero; all but the masks are clear by
  // default.
  static constexpr unsigned kMasked = 0x1f80;
  static constexpr unsigned kModes = 0x8000 | 0x6000 | kMasked | 0x0040;
  unsigned saved_;
#elif defined(__aarch64__)
  DefaultFloatMode() : saved_(__builtin_aarch64_get_fpcr64()) {
    if (saved_ != 0) __builtin_aarch64_set_fpcr64(0);
  }
  ~DefaultFloatMode() {
    if (saved_ != 0) __builtin_aarch64_set_fpcr64(saved_);
  }

 private:
  unsigned long long saved_;
#endif
 public:
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;
};

}  // namespace strait::reduce
