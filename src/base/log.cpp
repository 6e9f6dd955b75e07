#include "base/log.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/fd.hpp"

namespace strait {
namespace {

constexpr std::array<const char*, 5> kNames = {"NONE", "VERSION", "WARN", "INFO", "TRACE"};

constexpr uint32_t kAllParts = ~uint32_t{0};
// By bit.
constexpr std::array<std::string_view, 16> kParts = {
    "INIT",  "COLL", "P2P",   "SHM",  "NET",       "GRAPH", "TUNING",  "ENV",
    "ALLOC", "CALL", "PROXY", "NVLS", "BOOTSTRAP", "REG",   "PROFILE", "RAS"};

// Partner: as of the level below.
std::atomic<uint32_t> current_parts{kAllParts};

// Partner: set_log() stores, log_enabled() of any thread loads; a line more or less around the
// change does no harm.
std::atomic<int> current_level{static_cast<int>(LogLevel::kWarn)};

struct Sink {
  std::mutex mutex;
  std::string path;  // empty: standard error
  UniqueFd file;
};

// Never destroyed: other threads may log while the process ends.
Sink& sink() {
  static Sink* const made = new Sink;
  return *made;
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::string full = name.data();
  return full.substr(0, full.find('.'));
}

std::string expand(const std::string& pattern) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] != '%' || (next != 'h' && next != 'p' && next != '%')) {
      path += pattern[i];
      continue;
    }
    path += next == 'h' ? host_name() : next == 'p' ? std::to_string(getpid()) : "%";
    ++i;
  }
  return path;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& letter : result)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return result;
}

// 0: none of that name.
uint32_t part_named(const std::string& name) {
  if (name == "ALL") return kAllParts;
  for (size_t bit = 0; bit < kParts.size(); ++bit)
    if (name == kParts[bit]) return uint32_t{1} << bit;
  return 0;
}

uint32_t parse_parts(std::string_view text, std::string* unknown) {
  if (text.empty()) return kAllParts;
  const bool excludes = text.front() == '^';
  if (excludes) text.remove_prefix(1);
  uint32_t named = 0;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string name = upper(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const uint32_t part = part_named(name);
    if (part == 0 && !name.empty()) *unknown += (unknown->empty() ? "" : ", ") + name;
    named |= part;
  }
  return excludes ? ~named : named;
}

}  // namespace

bool log_enabled(LogPart parts) {
  return (static_cast<uint32_t>(parts) & current_parts.load(std::memory_order_relaxed)) != 0;
}

bool log_enabled(LogLevel level) {
  return static_cast<int>(level) <= current_level.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, const std::string& text) {
  const std::string line =
      fmt::format("{}:{}:{} STRAIT {} {}\n", host_name(), getpid(), syscall(SYS_gettid),
                  kNames[static_cast<size_t>(level)], text);
  std::lock_guard lock(sink().mutex);
  const int fd = sink().file ? sink().file.get() : STDERR_FILENO;
  // One write, so that lines of several processes do not mix; there is nobody to tell if it fails.
  [[maybe_unused]] const ssize_t written = write(fd, line.data(), line.size());
}

namespace {

void open_sink(const std::string& path) {
  std::string trouble;
  {
    std::lock_guard lock(sink().mutex);
    if (path == sink().path) return;
    sink().path = path;
    sink().file.reset();
    if (path.empty()) return;
    // Appending: other processes and earlier communicators may write to the same file.
    sink().file = UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!sink().file) trouble = std::strerror(errno);
  }
  if (!trouble.empty())
    log_warn("the log file {} cannot be opened ({}); logging to standard error", path, trouble);
}

}  // namespace

void set_log(const std::string& level, const std::string& file, const std::string& parts) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (level == kNames[i]) current_level.store(static_cast<int>(i), std::memory_order_relaxed);

  std::string unknown;
  current_parts.store(parse_parts(parts, &unknown), std::memory_order_relaxed);
  open_sink(expand(file));
  if (!unknown.empty())
    log_warn(
        "DEBUG_SUBSYS names {}, of which nothing is known: it takes {}, ALL, and ^ before what is "
        "not wanted",
        unknown, fmt::join(kParts, ", "));
}

}  // namespace strait
