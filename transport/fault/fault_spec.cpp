#include "transport/fault/fault_spec.hpp"

#include <algorithm>
#include <charconv>

namespace strait {
namespace {

constexpr int64_t kHighest = 1'000'000'000'000;

Status bad(const std::string& text, const std::string& word) {
  return error(Code::kInvalidArgument,
               "STRAIT_FAULT=\"{}\": \"{}\" is not one of seed=N, delay_us=N, stall_after=N, "
               "cut_after=N, corrupt_after=N with N from 0 to {}",
               text, word, kHighest);
}

bool assign(FaultSpec& spec, const std::string& key, int64_t value) {
  if (key == "seed")
    spec.seed = value;
  else if (key == "delay_us")
    spec.delay_us = value;
  else if (key == "stall_after")
    spec.stall_after = value;
  else if (key == "cut_after")
    spec.cut_after = value;
  else if (key == "corrupt_after")
    spec.corrupt_after = value;
  else
    return false;
  return true;
}

}  // namespace

Result<FaultSpec> parse_fault(const std::string& text) {
  FaultSpec spec;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return bad(text, word);
    int64_t value = 0;
    const char* last = word.data() + word.size();
    const auto [stop, failure] = std::from_chars(word.data() + equals + 1, last, value);
    if (failure != std::errc() || stop != last || value < 0 || value > kHighest ||
        !assign(spec, word.substr(0, equals), value))
      return bad(text, word);
  }
  return spec;
}

}  // namespace strait
