// Every algorithm of every collective, on every layout, proved for counts that divide and do not,
// one round and many, in place and not, at every number of slots that the plan allows, with all
// that may be lent lent.
#include "plan/cases.hpp"
#include "plan/loans.hpp"

namespace strait::plan_test {
namespace {

bool has_roots(Collective collective) {
  return collective == Collective::kReduce || collective == Collective::kBroadcast ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

// Small rings try every root, large ones the ends and a middle.
std::vector<int> roots_of(Collective collective, int ranks) {
  if (!has_roots(collective)) return {0};
  std::vector<int> roots;
  for (int root = 0; root < ranks; ++root)
    if (ranks <= 5 || root == 0 || root == ranks / 2 || root == ranks - 1) roots.push_back(root);
  return roots;
}

void verify_both_placements(const std::vector<Call>& calls, int slots, bool overwrites) {
  const Status apart = verify(calls, {.slots = slots, .overwrites_loans = overwrites});
  ASSERT_TRUE(apart.ok()) << apart.message();
  if (!in_place_offset(calls[0].request, 0, static_cast<int>(calls.size()))) return;
  const Status together =
      verify(calls, {.slots = slots, .in_place = true, .overwrites_loans = overwrites});
  ASSERT_TRUE(together.ok()) << "in place: " << together.message();
}

void verify_at_all_slots(const Request& request, const Topology& topology, const Choice& choice) {
  SCOPED_TRACE(describe(request, topology, choice));
  const std::vector<Call> calls = make_calls(request, topology, choice);
  for (int slots = calls[0].plan.slots_min; slots <= 3; ++slots) {
    verify_both_placements(calls, slots, may_overwrite_loans(choice.algorithm));
    if (testing::Test::HasFatalFailure()) return;
  }
}

class Exhaustive : public testing::TestWithParam<PlannerRow> {};

TEST_P(Exhaustive, IsProvedOnEveryLayout) {
  const PlannerRow& row = GetParam();
  for (const Topology& topology : all_layouts()) {
    const int ranks = topology.rank_count();
    for (const int root : roots_of(row.collective, ranks))
      for (const uint64_t count : {0, 1, 7, 13, 48, 101})
        for (const int lanes : {1, 2, 3})
          for (const uint64_t piece : {1, 3, 16}) {
            // Many tiny rounds teach nothing that a few do not.
            if (count / piece > 20) continue;
            const Request request{.collective = row.collective, .count = count, .root = root};
            verify_at_all_slots(
                request, topology,
                {.algorithm = row.algorithm, .lanes = lanes, .piece = piece, .reason = {}});
            if (HasFatalFailure()) return;
          }
  }
}

std::vector<PlannerRow> collective_rows() {
  std::vector<PlannerRow> rows;
  for (const PlannerRow& row : planner_rows())
    if (row.algorithm != Algorithm::kPointToPoint) rows.push_back(row);
  return rows;
}

INSTANTIATE_TEST_SUITE_P(AllPlanners, Exhaustive, testing::ValuesIn(collective_rows()),
                         [](const auto& row) {
                           return fmt::format("{}_{}", name_of(row.param.collective),
                                              name_of(row.param.algorithm));
                         });

// Large counts are cut at even addresses, the rest goes to the last part.
TEST_P(Exhaustive, IsProvedWithLargeParts) {
  const PlannerRow& row = GetParam();
  for (const char* text : {"5", "7+8", "2+2"}) {
    const Request request{.collective = row.collective, .count = 100'003, .root = 1};
    verify_at_all_slots(request, layout(text),
                        {.algorithm = row.algorithm, .lanes = 2, .piece = 2048, .reason = {}});
    if (HasFatalFailure()) return;
  }
}

// slots_min is no larger than it must be: with one slot less the plan hangs.
TEST_P(Exhaustive, NeedsEverySlotItAsksFor) {
  const PlannerRow& row = GetParam();
  for (const Topology& topology : all_layouts()) {
    const Request request{.collective = row.collective, .count = 480, .root = 0};
    const Choice choice{.algorithm = row.algorithm, .lanes = 1, .piece = 8, .reason = {}};
    std::vector<Call> calls = make_calls(request, topology, choice);
    const int fewer = calls[0].plan.slots_min - 1;
    if (fewer == 0) continue;
    for (Call& call : calls) call.plan.slots_min = fewer;
    const Status status = verify(calls, {});
    ASSERT_FALSE(status.ok()) << describe(request, topology, choice);
    EXPECT_NE(status.message().find("waits for ever"), std::string::npos) << status.message();
  }
}

// Wires follow the topology: coded between domains, plain inside.
TEST_P(Exhaustive, CodesExactlyWhatLeavesADomain) {
  const PlannerRow& row = GetParam();
  for (const Topology& topology : level_layouts())
    for (const Call& call :
         make_calls({.collective = row.collective, .count = 60}, topology,
                    {.algorithm = row.algorithm, .lanes = 2, .piece = 64, .reason = {}}))
      for (const Lane& lane : call.plan.lanes)
        for (const Step& step : lane.steps) {
          const auto wire = [&](int peer) {
            return peer == kNoPeer || topology.same_domain(peer, call.plan.rank) ? Wire::kPlain
                                                                                 : Wire::kCoded;
          };
          ASSERT_EQ(step.recv_wire, wire(step.recv_from));
          ASSERT_EQ(step.send_wire, wire(step.send_to));
        }
}

std::vector<Call> exchange(int ranks, const std::vector<std::pair<int, Request>>& requests,
                           const Choice& choice) {
  std::vector<Call> calls;
  for (int rank = 0; rank < ranks; ++rank)
    calls.push_back({{.collective = Collective::kSend, .count = 0, .root = 0},
                     {.rank = rank, .rank_count = ranks, .lanes = {}}});
  for (const auto& [rank, request] : requests) {
    Call& call = calls[static_cast<size_t>(rank)];
    call.request = request;
    call.plan = make_plan(request, Topology::flat(ranks), choice, rank).value();
  }
  return calls;
}

TEST(PointToPoint, EveryPairExchanges) {
  const Choice choice{.algorithm = Algorithm::kPointToPoint, .lanes = 3, .piece = 5, .reason = {}};
  for (int ranks = 2; ranks <= 4; ++ranks)
    for (int from = 0; from < ranks; ++from)
      for (int to = 0; to < ranks; ++to)
        for (const uint64_t count : {0, 1, 5, 13, 26}) {
          if (from == to) continue;
          const std::vector<Call> calls =
              exchange(ranks,
                       {{from, {.collective = Collective::kSend, .count = count, .root = to}},
                        {to, {.collective = Collective::kReceive, .count = count, .root = from}}},
                       choice);
          for (int slots = 1; slots <= 3; ++slots) {
            const Status status = verify(calls, {.slots = slots});
            ASSERT_TRUE(status.ok()) << status.message();
          }
        }
}

TEST(PointToPoint, OneSideAloneIsNotVerified) {
  const Choice choice{.algorithm = Algorithm::kPointToPoint, .reason = {}};
  const Request request{.collective = Collective::kSend, .count = 4, .root = 1};
  EXPECT_EQ(verify_collective(request, Topology::flat(2), choice).code(), Code::kInvalidArgument);
}

TEST(PointToPoint, CountsThatDifferAreFound) {
  const Choice choice{.algorithm = Algorithm::kPointToPoint, .lanes = 1, .piece = 5, .reason = {}};
  const std::vector<Call> calls =
      exchange(2,
               {{0, {.collective = Collective::kSend, .count = 9, .root = 1}},
                {1, {.collective = Collective::kReceive, .count = 7, .root = 0}}},
               choice);
  EXPECT_EQ(
      verify(calls, {}).message(),
      "rank 1, lane 0, step 0 (recv 0 -> output[0] x7), round 1: takes 2 elements, rank 0 sent 4");
}

}  // namespace
}  // namespace strait::plan_test
