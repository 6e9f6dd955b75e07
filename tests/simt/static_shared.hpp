// Where the `__shared__` variables of this OS thread are: they are thread_local and start out zero,
// so that they lie in the zeroed part of the thread-local storage of the program or library that
// this layer is linked into. A carrier fills all of it with poison before each block, as nothing
// else of that kind is used on its thread. Found once per carrier, in some microseconds.
#pragma once

#include <cstddef>

namespace strait::simt {

struct StaticShared {
  unsigned char* data = nullptr;
  size_t bytes = 0;
};

StaticShared find_static_shared();

}  // namespace strait::simt
