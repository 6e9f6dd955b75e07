// Injected failures, and how often each entry point was called. A plan is a list like
// "cuMemCreate:3=2,kernel:1=700,cuEventQuery:*=999": the third cuMemCreate returns error 2, the
// first kernel breaks its context with 700 while it runs, every cuEventQuery returns 999. Guarded
// by the machine's lock; costs a vector walk a call.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "standin/calls.hpp"

namespace strait::standin {

class Faults {
 public:
  // Replaces the plan and begins to count anew.
  void set(const std::string& plan);
  // Counts a call, or a "kernel", and says how it fails; 0: it does not.
  int strike(std::string_view name);
  uint64_t count(std::string_view name) const;

 private:
  struct Fault {
    std::string name;
    uint64_t number;  // 0: every one
    int code;
  };
  struct Count {
    std::string_view name;
    uint64_t calls;
  };
  std::vector<Fault> faults_;
  std::vector<Count> counts_;
};

}  // namespace strait::standin
