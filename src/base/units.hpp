// Sizes and rates as people write them, in settings and on command lines: read strictly, so that a
// slip is told and never guessed. Pure functions; any thread; nothing is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace strait {

// "4096", "64K", "1M", "2G": bytes; the suffix is binary, as in nccl-tests.
Result<int64_t> parse_size(std::string_view text);

// "2gbit", "100mbit", "8kbit" are bits (decimal, as tc takes them); "250MB", "1GB", "10kB" and bare
// numbers are bytes. Returns bytes per second.
Result<int64_t> parse_rate(std::string_view text);

std::string format_bytes(uint64_t bytes);  // "64 KiB", "1.5 MiB"

}  // namespace strait
