#include "standin/faults.hpp"

#include <algorithm>
#include <charconv>

#include "base/check.hpp"

namespace strait::standin {
namespace {

template <class Number>
Number parse(std::string_view text) {
  Number value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  STRAIT_CHECK(parsed.ec == std::errc() && parsed.ptr == text.data() + text.size(),
               "a fault of the stand-in reads name:number=code");
  return value;
}

}  // namespace

void Faults::set(const std::string& plan) {
  faults_.clear();
  counts_.clear();
  std::string_view rest = plan;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const size_t colon = one.find(':');
    const size_t equals = one.find('=');
    STRAIT_CHECK(colon != one.npos && equals != one.npos && colon < equals,
                 "a fault of the stand-in reads name:number=code");
    const std::string_view number = one.substr(colon + 1, equals - colon - 1);
    faults_.push_back({std::string(one.substr(0, colon)),
                       number == "*" ? 0 : parse<uint64_t>(number),
                       parse<int>(one.substr(equals + 1))});
  }
}

int Faults::strike(std::string_view name) {
  auto at = std::find_if(counts_.begin(), counts_.end(),
                         [&](const Count& count) { return count.name == name; });
  if (at == counts_.end()) at = counts_.insert(counts_.end(), {name, 0});
  ++at->calls;
  for (const Fault& fault : faults_)
    if (fault.name == name && (fault.number == 0 || fault.number == at->calls)) return fault.code;
  return 0;
}

uint64_t Faults::count(std::string_view name) const {
  for (const Count& count : counts_)
    if (count.name == name) return count.calls;
  return 0;
}

}  // namespace strait::standin
