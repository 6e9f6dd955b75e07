// What is raced on: values drawn from a normal distribution, or the tensors of safetensors files.
// Plain functions; one thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"
#include "perf/codec_perf/race.hpp"

namespace strait::perf {

Field normal_field(DataType type, size_t bytes);

// One field for each file and floating-point type in it: its tensors one behind another.
Result<std::vector<Field>> file_fields(const std::vector<std::string>& paths);

}  // namespace strait::perf
