// FaultSpec: which faults a link shall show, as a value that is read from text:
// "seed=7,delay_us=100,cut_after=50". Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.hpp"

namespace strait {

struct FaultSpec {
  int64_t seed = 1;
  int64_t delay_us = 0;                  // each message is late by a random time up to this
  std::optional<int64_t> stall_after;    // so many messages pass, then none ever arrives
  std::optional<int64_t> cut_after;      // so many messages pass, then the link fails
  std::optional<int64_t> corrupt_after;  // so many messages pass, then one has one bit flipped

  bool operator==(const FaultSpec&) const = default;
};

// A bad text is an error that names the word and lists the keys.
Result<FaultSpec> parse_fault(const std::string& text);

}  // namespace strait
