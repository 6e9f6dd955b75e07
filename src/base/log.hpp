// Log lines as NCCL's users know them: "<host>:<pid>:<tid> STRAIT INFO ...". The level, the file
// and the parts of the library that are heard are set when a communicator is made (NCCL_DEBUG,
// NCCL_DEBUG_FILE, NCCL_DEBUG_SUBSYS); before that only warnings are printed, to standard error.
// Any thread; a line that is not wanted costs two loads. Never called on the hot path.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace strait {

enum class LogLevel : int { kNone = 0, kVersion = 1, kWarn = 2, kInfo = 3, kTrace = 4 };

// What an INFO or TRACE line is about, by NCCL's names; a line may be about several.
enum class LogPart : uint32_t {
  kInit = 1 << 0,
  kColl = 1 << 1,
  kP2p = 1 << 2,
  kShm = 1 << 3,
  kNet = 1 << 4,
  kGraph = 1 << 5,
  kTuning = 1 << 6,
  kEnv = 1 << 7,
  kAlloc = 1 << 8,
  kCall = 1 << 9,
  kProxy = 1 << 10,
  kNvls = 1 << 11,
  kBootstrap = 1 << 12,
  kReg = 1 << 13,
  kProfile = 1 << 14,
  kRas = 1 << 15,
};
constexpr LogPart operator|(LogPart a, LogPart b) {
  return static_cast<LogPart>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}

bool log_enabled(LogLevel level);
// Whether somebody wants to hear of any of these parts.
bool log_enabled(LogPart parts);
void log_line(LogLevel level, const std::string& text);
// level by NCCL's names (NONE VERSION WARN INFO TRACE); file may hold %h and %p, empty is standard
// error. parts: names of LogPart as NCCL writes them (INIT,NET), ALL, or those that are not wanted
// (^NET,ENV); empty: all. Names that nobody knows are warned of and change nothing.
void set_log(const std::string& level, const std::string& file, const std::string& parts = "");

template <class... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kWarn))
    log_line(LogLevel::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(LogPart parts, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kInfo) && log_enabled(parts))
    log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
// What a communicator is made of.
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_info(LogPart::kInit, format, std::forward<Args>(args)...);
}

}  // namespace strait
