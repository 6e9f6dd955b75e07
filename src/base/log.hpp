// Log lines as NCCL's users know them: "<host>:<pid>:<tid> STRAIT INFO ...". The level and file are
// set when a communicator is made (NCCL_DEBUG, NCCL_DEBUG_FILE); before that only warnings are
// printed, to standard error. Any thread; a line below the level costs one load. Never called on
// the hot path.
#pragma once

#include <fmt/format.h>

#include <string>

namespace strait {

enum class LogLevel : int { kNone = 0, kVersion = 1, kWarn = 2, kInfo = 3, kTrace = 4 };

bool log_enabled(LogLevel level);
void log_line(LogLevel level, const std::string& text);
// level by NCCL's names (NONE VERSION WARN INFO TRACE); file may hold %h and %p, empty is standard
// error.
void set_log(const std::string& level, const std::string& file);

template <class... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kWarn))
    log_line(LogLevel::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kInfo))
    log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace strait
