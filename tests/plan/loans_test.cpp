// What plans may lend: which steps, and that a lender which waits for its readers gives the same
// numbers as one that copies, while one that does not wait gives wrong ones.
#include <gmock/gmock.h>

#include "plan/cases.hpp"
#include "plan/concrete.hpp"
#include "plan/loans.hpp"

namespace strait::plan_test {
namespace {

constexpr Loan kNever = Loan::kNever;
constexpr Loan kApart = Loan::kApart;
constexpr Loan kAlways = Loan::kAlways;

std::vector<Loan> loans_of(const Request& request, Algorithm algorithm, int ranks, int rank,
                           const LoanTerms& terms) {
  const Choice choice{.algorithm = algorithm, .lanes = 1, .piece = 10, .reason = {}};
  const Plan plan = make_plan(request, Topology::flat(ranks), choice, rank).value();
  return find_loans(request, plan, terms).front();
}

TEST(Loans, ComeFromTheInputAndFromTheOutput) {
  // Sends its block, adds to one as it passes, completes one (into the output), hands that and
  // another on, keeps the last.
  EXPECT_EQ(loans_of({.count = 300}, Algorithm::kRing, 3, 1, {.overwrites = true}),
            (std::vector<Loan>{kAlways, kNever, kAlways, kAlways, kNever}));
  // In place the block that it sent first comes back as a sum.
  EXPECT_EQ(loans_of({.count = 300}, Algorithm::kRing, 3, 1, {.overwrites = false}),
            (std::vector<Loan>{kApart, kNever, kAlways, kAlways, kNever}));
}

TEST(Loans, AreNotMadeOfWhatIsScaledOnItsWay) {
  for (const ReduceKind kind : {ReduceKind::kAvg, ReduceKind::kPreMulSum}) {
    const Request request{.reduce = kind, .count = 300};
    EXPECT_EQ(
        loans_of(request, Algorithm::kTwoShot, 3, 0, {.overwrites = true}),
        (std::vector<Loan>{kNever, kNever, kNever, kNever, kAlways, kAlways, kNever, kNever}));
  }
}

TEST(Loans, LeaveAloneWhatIsDoneWithoutTheReceiver) {
  const Request send{.collective = Collective::kSend, .count = 41, .root = 1};
  EXPECT_EQ(loans_of(send, Algorithm::kPointToPoint, 2, 0, {.overwrites = true, .slots = 5}),
            std::vector<Loan>{kNever});
  EXPECT_EQ(loans_of(send, Algorithm::kPointToPoint, 2, 0, {.overwrites = true, .slots = 4}),
            std::vector<Loan>{kAlways});
  const Request broadcast{.collective = Collective::kBroadcast, .count = 41, .root = 0};
  EXPECT_EQ(loans_of(broadcast, Algorithm::kRing, 3, 0, {.overwrites = true, .slots = 5}).front(),
            kNever);
}

TEST(Loans, StayInsideADomain) {
  const Request request{.collective = Collective::kAllGather, .count = 50};
  const Choice choice{.algorithm = Algorithm::kRing, .lanes = 1, .piece = 10, .reason = {}};
  for (const Call& call : make_calls(request, layout("2+2"), choice)) {
    const Loans loans = find_loans(request, call.plan, {.overwrites = true});
    for (size_t i = 0; i < call.plan.lanes[0].steps.size(); ++i) {
      const Step& step = call.plan.lanes[0].steps[i];
      if (step.send_to == kNoPeer) continue;
      EXPECT_EQ(loans[0][i], step.send_wire == Wire::kPlain ? kAlways : kNever);
    }
  }
}

// Each rank would wait for the others to have read its input before it writes the sum there.
TEST(Loans, OneShotInPlaceWouldHang) {
  const Request request{.count = 30};
  const Choice choice{.algorithm = Algorithm::kOneShot, .lanes = 1, .piece = 10, .reason = {}};
  for (int ranks = 2; ranks <= 5; ++ranks) {
    const std::vector<Call> calls = make_calls(request, Topology::flat(ranks), choice);
    EXPECT_THAT(verify(calls, {.in_place = true, .overwrites_loans = true}).message(),
                testing::HasSubstr("waits for ever for peers to give back what they were lent"));
    EXPECT_TRUE(verify(calls, {.overwrites_loans = true}).ok());
    EXPECT_TRUE(verify(calls, {.in_place = true}).ok());
  }
}

// The outputs of all ranks, or nothing when it hangs.
std::optional<std::vector<uint64_t>> outputs(const std::vector<Call>& calls,
                                             const Conditions& conditions, Lending lending,
                                             uint32_t seed) {
  Concrete<Numbers> concrete(calls, conditions, lending);
  if (!concrete.run(seed)) return std::nullopt;
  std::vector<uint64_t> found;
  const int ranks = static_cast<int>(calls.size());
  for (int rank = 0; rank < ranks; ++rank)
    for (uint64_t i = 0; i < output_count(calls.front().request, rank, ranks); ++i)
      found.push_back(concrete.output(static_cast<size_t>(rank), i));
  return found;
}

// Runs the row in and out of place, by many lots; returns how many runs differ from copying.
int count_wrong(const PlannerRow& row, bool overwrites, Lending lending) {
  int wrong = 0;
  for (const char* text : {"2", "4", "2+2", "3+1"}) {
    const Request request{.collective = row.collective, .count = 48, .root = 1};
    const Choice choice{.algorithm = row.algorithm, .lanes = 2, .piece = 5, .reason = {}};
    const std::vector<Call> calls = make_calls(request, layout(text), choice);
    const int ranks = static_cast<int>(calls.size());
    Conditions conditions{.slots = 3, .overwrites_loans = overwrites};
    for (const bool in_place : {false, true}) {
      if (in_place && !in_place_offset(request, 0, ranks)) continue;
      conditions.in_place = in_place;
      const auto expected = outputs(calls, conditions, Lending::kNone, 1);
      for (uint32_t seed = 1; seed <= 8; ++seed)
        wrong += outputs(calls, conditions, lending, seed) == expected ? 0 : 1;
    }
  }
  return wrong;
}

TEST(Loans, OfWhoWaitsForItsReadersChangeNothing) {
  for (const PlannerRow& row : planner_rows())
    if (row.algorithm != Algorithm::kPointToPoint) {
      EXPECT_EQ(count_wrong(row, may_overwrite_loans(row.algorithm), Lending::kGuarded), 0)
          << name_of(row.collective) << " " << name_of(row.algorithm);
    }
}

TEST(Loans, OfWhoDoesNotWaitSpoilResults) {
  const PlannerRow row{Collective::kAllReduce, Algorithm::kOneShot, all_reduce_one_shot};
  EXPECT_GT(count_wrong(row, true, Lending::kUnguarded), 0);
}

}  // namespace
}  // namespace strait::plan_test
