// Whether memory is there at all: a look before the leap, for programs that pass wild pointers. Any
// thread; two system calls.
#pragma once

#include <cstddef>

namespace strait {

// The first and the last byte lie in pages of this process. Says nothing of what is in between, nor
// whether it may be written.
bool is_mapped(const void* begin, size_t bytes);

}  // namespace strait
