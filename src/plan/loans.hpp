// Loans: which messages of a plan may be lent, that is, read by the receiver where the sender has
// them instead of travelling through a slot. Lending changes no plan and no bit; it adds waits: a
// lender goes on to overwrite what it lent, and ends its call, only when the receiver has given it
// back. Here is decided where that is allowed, for executors and for the verifier, which proves
// that no call can hang by it. Since lending less only takes waits away, an executor may at any
// time send through a slot what it may lend. Pure; any thread; costs steps squared of a lane.
//
//   input ──> peer                     lent from the input, if nothing is combined or scaled
//   received (+ source) ──> output, peer     lent from the output
#pragma once

#include <optional>
#include <vector>

#include "base/algorithms.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"

namespace strait {

enum class Loan : uint8_t {
  kNever,
  kApart,  // where input and output share no memory
  kAlways,
};

// What calls must keep besides.
struct LoanTerms {
  bool overwrites = false;  // a later step may write to what is lent, and wait for it
  int slots = 0;            // of every link
};

// The value that the step sends, as it lies in the caller's memory; none if it lies nowhere.
std::optional<Place> lendable(const Step& step, const Request& request);

// By lane and step.
using Loans = std::vector<std::vector<Loan>>;
Loans find_loans(const Request& request, const Plan& plan, const LoanTerms& terms);

// Whether plans of this algorithm may overwrite what they have lent: in all of them but one-shot
// what overwrites it follows from what the receiver made of it. One-shot sums of an in-place call
// would wait for each other in a circle. The exhaustive tests prove it for each row of the table.
inline bool may_overwrite_loans(Algorithm algorithm) {
  return algorithm != Algorithm::kOneShot;
}

}  // namespace strait
