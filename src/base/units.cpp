#include "base/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace strait {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 9> kSizeUnits = {{{"", 1},
                                             {"K", 1024.0},
                                             {"k", 1024.0},
                                             {"M", 1048576.0},
                                             {"m", 1048576.0},
                                             {"G", 1073741824.0},
                                             {"g", 1073741824.0},
                                             {"T", 1099511627776.0},
                                             {"t", 1099511627776.0}}};

// Bytes per second.
constexpr std::array<Unit, 17> kRateUnits = {{{"", 1},
                                              {"bit", 0.125},
                                              {"kbit", 125.0},
                                              {"Kbit", 125.0},
                                              {"mbit", 125e3},
                                              {"Mbit", 125e3},
                                              {"gbit", 125e6},
                                              {"Gbit", 125e6},
                                              {"tbit", 125e9},
                                              {"Tbit", 125e9},
                                              {"B", 1},
                                              {"kB", 1e3},
                                              {"KB", 1e3},
                                              {"MB", 1e6},
                                              {"GB", 1e9},
                                              {"TB", 1e12},
                                              {"PB", 1e15}}};

constexpr double kLargest = 9.2e18;  // below 2^63, so that the conversion to int64_t is defined

template <size_t n>
std::optional<double> factor_of(std::string_view name, const std::array<Unit, n>& units) {
  for (const Unit& unit : units)
    if (unit.name == name) return unit.factor;
  return std::nullopt;
}

// The number at the start of `text` times its unit; nullopt unless the whole text is that. Digits
// alone are exact to the last one; with a unit, the double's 53 bits are.
template <size_t n>
std::optional<int64_t> number_with_unit(std::string_view text, const std::array<Unit, n>& units) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const char* const end = text.data() + text.size();
  int64_t whole = 0;
  const auto digits = std::from_chars(text.data(), end, whole);
  if (digits.ptr == end)
    return digits.ec == std::errc() ? std::optional<int64_t>(whole) : std::nullopt;
  double number = 0;
  const auto parsed = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (parsed.ec != std::errc()) return std::nullopt;
  const auto factor = factor_of(std::string_view(parsed.ptr, end - parsed.ptr), units);
  if (!factor || number * *factor > kLargest) return std::nullopt;
  const double value = number * *factor;
  // Half a byte has no meaning, and a rate that rounds to zero would read as "unlimited".
  if (value != std::floor(value) && (factor == 1.0 || value < 1)) return std::nullopt;
  return static_cast<int64_t>(value);
}

}  // namespace

Result<int64_t> parse_size(std::string_view text) {
  if (const auto bytes = number_with_unit(text, kSizeUnits)) return *bytes;
  return error(Code::kInvalidArgument,
               "\"{}\" is not a size; write bytes, or a number with K, M, G or T, as 64K", text);
}

Result<int64_t> parse_rate(std::string_view text) {
  if (const auto rate = number_with_unit(text, kRateUnits)) return *rate;
  return error(Code::kInvalidArgument,
               "\"{}\" is not a rate; write bits per second, as 2gbit or 100mbit, or bytes per "
               "second, as 250MB",
               text);
}

std::string format_bytes(uint64_t bytes) {
  constexpr std::array<const char*, 7> kNames = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  double value = static_cast<double>(bytes);
  // 1023.95 would print as "1024.0": take the next unit already there.
  while (unit + 1 < kNames.size() && value >= 1023.95) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  const std::string number = fmt::format("{:.1f}", value);
  const bool whole = number.ends_with(".0");
  return fmt::format("{} {}", whole ? number.substr(0, number.size() - 2) : number, kNames[unit]);
}

}  // namespace strait
