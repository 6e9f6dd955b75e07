// ZipNN, a Python package, raced on the same chunks by a script of its own in another process: not
// in turns with the others, but in the same run. Plain functions; one thread; waits for the
// process, two minutes at most.
#pragma once

#include <optional>
#include <string>

#include "perf/codec_perf/race.hpp"

namespace strait::perf {

// The interpreter that setup_zipnn makes; empty where it has not been run.
std::string zipnn_python();

// Nothing for types that ZipNN does not know, or when the script fails (it says why itself).
std::optional<Standing> race_zipnn(const std::string& python, const Field& field,
                                   size_t chunk_bytes, int rounds);

}  // namespace strait::perf
