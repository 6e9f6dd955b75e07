#include "base/algorithms.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace strait {
namespace {

constexpr std::array<std::string_view, kAlgorithmCount> kNames = {
    "ring", "tree", "one_shot", "two_shot", "direct", "hierarchical", "point_to_point"};
constexpr std::array<std::string_view, 7> kAbsent = {
    "collnet", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat", "symk"};
constexpr std::array<std::string_view, 3> kProtocols = {"_ll128", "_ll", "_simple"};

std::string lower(std::string_view text) {
  std::string result;
  for (const char letter : text)
    if (std::isspace(static_cast<unsigned char>(letter)) == 0)
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return result;
}

// The part before the first separator, which leaves the text with it.
std::string_view take(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

// Empty: no algorithm has this name.
Result<uint8_t> bit_of(std::string_view written) {
  std::string name = lower(written);
  for (const std::string_view protocol : kProtocols) {
    if (!name.ends_with(protocol)) continue;
    name.resize(name.size() - protocol.size());
    break;
  }
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<uint8_t>(1 << i);
  if (std::ranges::find(kAbsent, name) != kAbsent.end() || name.starts_with("symk_"))
    return uint8_t{0};
  return error(Code::kInvalidArgument, "'{}' is no algorithm; auto always works", written);
}

std::string function_name(std::string_view written) {
  std::string name = lower(written);
  std::erase(name, '_');
  return name;
}

}  // namespace

std::string_view name_of(Algorithm algorithm) {
  return kNames[static_cast<size_t>(algorithm)];
}

Result<AlgorithmSet> parse_algorithms(std::string_view list) {
  const std::string text = lower(list);
  std::string_view rest = text;
  if (rest.empty() || rest == "auto") return AlgorithmSet{};
  const bool inverted = rest.front() == '^';
  if (inverted) rest.remove_prefix(1);
  uint8_t bits = 0;
  do {
    STRAIT_ASSIGN(const uint8_t bit, bit_of(take(rest, ',')));
    bits |= bit;
  } while (!rest.empty());
  return AlgorithmSet{inverted ? static_cast<uint8_t>(AlgorithmSet::kAll & ~bits) : bits};
}

Result<AlgorithmSet> algorithms_for(std::string_view function, std::string_view lists) {
  AlgorithmSet of_others;
  AlgorithmSet own;
  bool has_own = false;
  while (!lists.empty()) {
    std::string_view rule = take(lists, ';');
    const bool named = rule.find(':') != std::string_view::npos;
    const std::string owner = named ? function_name(take(rule, ':')) : "";
    STRAIT_ASSIGN(const AlgorithmSet set, parse_algorithms(rule));
    if (!named) of_others = set;
    if (!named || owner != function_name(function)) continue;
    own = set;
    has_own = true;
  }
  return has_own ? own : of_others;
}

Status check_algorithms(std::string_view lists) {
  return algorithms_for("", lists).status();
}

}  // namespace strait
