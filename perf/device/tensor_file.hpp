// The bytes of all tensors of a safetensors file of one type, read with nothing but the standard
// library: perf/safetensors reads any such file, but needs a JSON parser. One call, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace strait::device_check {

// What follows the header: the tensors, one behind another.
Result<std::vector<std::byte>> read_tensors(const std::string& path);

}  // namespace strait::device_check
