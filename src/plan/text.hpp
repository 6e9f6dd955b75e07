// Plans as text, one step a line: what logs, golden tests and bug reports hold. format() and parse
// are exact inverses for every plan whose absent peers have plain wires. Pure functions; any
// thread; never on the hot path.
//
//     plan rank 0 of 4 scratch 64 slots 2
//     lane 0 piece 64
//       input[0] send 1 x128
//       recv 3 coded + scratch[0] -> output[128] send 2 coded finish x128
//
// A plan:  plan rank R of N [scratch ELEMENTS] slots MIN, then its lanes.
// A lane:  lane INDEX piece ELEMENTS, then its steps.
// A step:  OPERANDS [-> PLACE] [send PEER [coded]] [finish] xCOUNT
//          OPERANDS are joined by '+': recv PEER [coded], then the source, then the addend.
//          `nothing` stands for a source that is not there (no valid step needs it). A PLACE is
//          input[OFFSET], output[OFFSET] or scratch[OFFSET].
// Blank lines and what follows '#' are skipped. Indentation is free.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "plan/plan.hpp"

namespace strait {

std::string format(const Step& step);
std::string format(const Plan& plan);
std::string format(const std::vector<Plan>& plans);  // one after the other, a blank line between

// Failures name line, column, what was expected and what was found.
Result<Plan> parse_plan(std::string_view text);                // exactly one
Result<std::vector<Plan>> parse_plans(std::string_view text);  // any number

}  // namespace strait
