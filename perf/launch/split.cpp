#include "perf/launch/split.hpp"

#include <strings.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace strait::perf {
namespace {

struct Operator {
  const char* word;
  char sign;
  int (*color)(int process, int number);
};

constexpr std::array<Operator, 4> kOperators = {{
    {"AND", '&', [](int process, int number) { return process & number; }},
    {"OR", '|', [](int process, int number) { return process | number; }},
    {"MOD", '%', [](int process, int number) { return process % number; }},
    {"DIV", '/', [](int process, int number) { return process / number; }},
}};

// A whole text as a number; base 0: 0x and 0b say which.
std::optional<int> number_of(std::string_view text, int base) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto prefixed = [&](const char* prefix) {
    return text.size() > 2 && ::strncasecmp(text.data(), prefix, 2) == 0;
  };
  if (prefixed("0x") && base != 10) {
    base = 16;
    text.remove_prefix(2);
  } else if (base == 0 && prefixed("0b")) {
    base = 2;
    text.remove_prefix(2);
  }
  int value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, base == 0 ? 10 : base);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 0) return std::nullopt;
  return value;
}

Result<std::vector<int>> colors_of(const char* text, int processes) {
  for (const Operator& known : kOperators) {
    std::string_view rest = text;
    if (::strncasecmp(text, known.word, std::strlen(known.word)) == 0)
      rest.remove_prefix(std::strlen(known.word));
    else if (!rest.empty() && rest.front() == known.sign)
      rest.remove_prefix(1);
    else
      continue;
    const auto number = number_of(rest, 0);
    const bool divides = known.sign == '%' || known.sign == '/';
    if (!number || (divides && *number == 0)) break;
    std::vector<int> colors;
    for (int process = 0; process < processes; ++process)
      colors.push_back(known.color(process, *number));
    return colors;
  }
  return error(Code::kInvalidArgument,
               "NCCL_TESTS_SPLIT=\"{}\" is none of AND, OR, MOD, DIV (& | % /) with a number",
               text);
}

}  // namespace

Split::Split(std::vector<int> colors) : colors_(std::move(colors)) {
  for (size_t process = 0; process < colors_.size(); ++process)
    groups_[colors_[process]].push_back(static_cast<int>(process));
}

int Split::index(int process) const {
  const std::vector<int>& all = members(process);
  return static_cast<int>(std::find(all.begin(), all.end(), process) - all.begin());
}

Result<Split> Split::read(const EnvironmentLookup& lookup, int processes) {
  if (const char* text = lookup("NCCL_TESTS_SPLIT_MASK")) {
    const auto mask = number_of(text, 16);
    if (!mask)
      return error(Code::kInvalidArgument, "NCCL_TESTS_SPLIT_MASK=\"{}\" is no hexadecimal number",
                   text);
    std::vector<int> colors;
    for (int process = 0; process < processes; ++process) colors.push_back(process & *mask);
    return Split(std::move(colors));
  }
  if (const char* text = lookup("NCCL_TESTS_SPLIT")) {
    STRAIT_ASSIGN(std::vector<int> colors, colors_of(text, processes));
    return Split(std::move(colors));
  }
  return Split(processes);
}

}  // namespace strait::perf
