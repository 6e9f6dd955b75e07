// Which kernels run: the best that this processor has, unless a test or a measurement forces one.
// Any thread; one atomic load.
#pragma once

#include <string_view>
#include <vector>

#include "codec/kernels.hpp"

namespace strait::codec {

// The kernels in use.
const Kernels& kernels();

// All kernels that this processor can run, slowest first; the last one is the default.
const std::vector<const Kernels*>& available_kernels();

// Uses the named kernels from now on, in every thread; an empty name means the default. False when
// there are none of that name here.
bool force_kernels(std::string_view name);

}  // namespace strait::codec
