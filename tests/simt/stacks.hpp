// Stacks for the fibres of a warp, from a pool of the process that only grows: pages once touched
// are warm for the next block. Any thread may take and give; one lock. The lowest page of a stack
// is a guard, up to a bound that leaves the process most of the mappings that the system allows it.
#pragma once

#include <cstddef>

namespace strait::simt {

struct StackRow {
  static constexpr size_t kStacks = 32;
  unsigned char* base = nullptr;
  size_t stack_bytes = 0;

  unsigned char* stack(size_t index) const { return base + index * stack_bytes; }
};

// base is null when the system gives no more memory. The size is rounded up to
// whole pages, and doubled under the address sanitizer.
StackRow take_stacks(size_t stack_bytes);
void give_stacks(const StackRow& row);

}  // namespace strait::simt
