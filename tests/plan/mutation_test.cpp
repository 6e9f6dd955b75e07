// Good plans, broken in every small way that comes to mind. The verifier must refuse each mutant,
// in place or out of place; a mutant that it lets through must be no worse than the plan: a plain
// run with numbers, in many random orders, must give the right result.
#include <gtest/gtest.h>

#include <functional>

#include "plan/cases.hpp"
#include "plan/concrete.hpp"
#include "plan/text.hpp"

namespace strait::plan_test {
namespace {

struct Site {
  Plan& plan;
  size_t lane;
  size_t step;

  std::vector<Step>& steps() const { return plan.lanes[lane].steps; }
  Step& at() const { return steps()[step]; }
};

// Changes something at a site; false: nothing to change there.
struct Mutation {
  const char* name;
  bool may_be_harmless;  // whether some of its mutants can be equivalent to the plan
  std::function<bool(const Site&)> apply;
};

bool next_rank(int& peer, const Plan& plan) {
  if (peer == kNoPeer) return false;
  peer = (peer + 1) % plan.rank_count;
  return true;
}

bool move(std::optional<Place>& place, int by, bool scratch) {
  if (!place || (place->buffer == Buffer::kScratch) != scratch) return false;
  if (by < 0 && place->offset == 0) return false;
  place->offset += static_cast<uint64_t>(by);
  return true;
}

bool rebuffer(std::optional<Place>& place, Buffer from, Buffer to) {
  if (!place || place->buffer != from) return false;
  place->buffer = to;
  return true;
}

template <class Optional>
bool drop(Optional& place) {
  const bool had = place.has_value();
  place.reset();
  return had;
}

bool drop_peer(int& peer, Wire& wire) {
  const bool had = peer != kNoPeer;
  peer = kNoPeer;
  wire = Wire::kPlain;
  return had;
}

Wire other(Wire wire) {
  return wire == Wire::kPlain ? Wire::kCoded : Wire::kPlain;
}

std::vector<Mutation> field_mutations() {
  return {
      {"receive from another rank", false,
       [](const Site& s) { return next_rank(s.at().recv_from, s.plan); }},
      {"send to another rank", false,
       [](const Site& s) { return next_rank(s.at().send_to, s.plan); }},
      {"source one further", false, [](const Site& s) { return move(s.at().source, 1, false); }},
      {"source one before", false, [](const Site& s) { return move(s.at().source, -1, false); }},
      {"addend one further", false, [](const Site& s) { return move(s.at().addend, 1, false); }},
      {"target one further", false, [](const Site& s) { return move(s.at().target, 1, false); }},
      {"target one before", false, [](const Site& s) { return move(s.at().target, -1, false); }},
      {"scratch source moved", false, [](const Site& s) { return move(s.at().source, 1, true); }},
      {"scratch target moved", false, [](const Site& s) { return move(s.at().target, -1, true); }},
      {"source from output", true,
       [](const Site& s) { return rebuffer(s.at().source, Buffer::kInput, Buffer::kOutput); }},
      {"source from input", true,
       [](const Site& s) { return rebuffer(s.at().source, Buffer::kOutput, Buffer::kInput); }},
      {"scratch source from output", false,
       [](const Site& s) { return rebuffer(s.at().source, Buffer::kScratch, Buffer::kOutput); }},
      {"target in scratch", false,
       [](const Site& s) { return rebuffer(s.at().target, Buffer::kOutput, Buffer::kScratch); }},
      {"target in input", false,
       [](const Site& s) { return rebuffer(s.at().target, Buffer::kOutput, Buffer::kInput); }},
      {"no receive", false,
       [](const Site& s) { return drop_peer(s.at().recv_from, s.at().recv_wire); }},
      {"no send", false, [](const Site& s) { return drop_peer(s.at().send_to, s.at().send_wire); }},
      {"no source", false, [](const Site& s) { return drop(s.at().source); }},
      {"no addend", false, [](const Site& s) { return drop(s.at().addend); }},
      {"no target", false, [](const Site& s) { return drop(s.at().target); }},
      {"one element more", false, [](const Site& s) { return ++s.at().count > 0; }},
      {"one element less", false, [](const Site& s) { return s.at().count-- > 0; }},
      {"finish flipped", false,
       [](const Site& s) {
         s.at().finish = !s.at().finish;
         return true;
       }},
      {"receive wire flipped", false,
       [](const Site& s) {
         s.at().recv_wire = other(s.at().recv_wire);
         return true;
       }},
      {"send wire flipped", false,
       [](const Site& s) {
         s.at().send_wire = other(s.at().send_wire);
         return true;
       }},
  };
}

std::vector<Mutation> sequence_mutations() {
  return {
      {"step dropped", false,
       [](const Site& s) {
         s.steps().erase(s.steps().begin() + static_cast<std::ptrdiff_t>(s.step));
         return true;
       }},
      {"step doubled", true,
       [](const Site& s) {
         const Step twin = s.at();
         s.steps().insert(s.steps().begin() + static_cast<std::ptrdiff_t>(s.step), twin);
         return true;
       }},
      {"step swapped with the next", true,
       [](const Site& s) {
         if (s.step + 1 == s.steps().size() || s.at() == s.steps()[s.step + 1]) return false;
         std::swap(s.at(), s.steps()[s.step + 1]);
         return true;
       }},
      {"step moved to the end", true,
       [](const Site& s) {
         if (s.step + 1 == s.steps().size()) return false;
         const auto at = s.steps().begin() + static_cast<std::ptrdiff_t>(s.step);
         std::rotate(at, at + 1, s.steps().end());
         return true;
       }},
      {"step moved to another lane", true,
       [](const Site& s) {
         s.plan.lanes[(s.lane + 1) % s.plan.lanes.size()].steps.push_back(s.at());
         s.steps().erase(s.steps().begin() + static_cast<std::ptrdiff_t>(s.step));
         return true;
       }},
  };
}

std::vector<Mutation> plan_mutations() {
  return {
      {"smaller pieces", false,
       [](const Site& s) { return s.step == 0 && --s.plan.lanes[s.lane].piece > 0; }},
      {"larger pieces", false,
       [](const Site& s) { return s.step == 0 && ++s.plan.lanes[s.lane].piece > 0; }},
      {"no pieces", false, [](const Site& s) { return (s.plan.lanes[s.lane].piece = 0) == 0; }},
      {"less scratch", false,
       [](const Site& s) { return s.plan.scratch_count > 0 && s.plan.scratch_count-- > 0; }},
      {"scratch of the other lane", false,
       [](const Site& s) {
         bool moved = false;
         if (s.step != 0 || s.lane != 1) return false;
         for (Step& step : s.steps())
           for (auto* place : {&step.source, &step.addend, &step.target})
             if (*place && (*place)->buffer == Buffer::kScratch) {
               moved = moved || (*place)->offset != 0;
               (*place)->offset = 0;
             }
         return moved;
       }},
      {"plan of another rank", false,
       [](const Site& s) { return s.plan.rank_count > 1 && next_rank(s.plan.rank, s.plan); }},
      {"lane lost", false,
       [](const Site& s) {
         if (s.step != 0) return false;
         s.steps().clear();
         return true;
       }},
      {"no slots", false, [](const Site& s) { return (s.plan.slots_min = 0) == 0; }},
  };
}

struct Base {
  Request request;
  Topology topology;
  Choice choice;
};

std::vector<Base> bases() {
  std::vector<Base> all;
  for (const PlannerRow& row : planner_rows()) {
    if (row.algorithm == Algorithm::kPointToPoint) continue;
    std::vector<const char*> layouts = {"3", "2+2"};
    if (row.algorithm == Algorithm::kHierarchical) layouts = {"2+2", "1+3", "1+1+2"};
    for (const char* text : layouts)
      all.push_back({{.collective = row.collective, .count = 60, .root = 1},
                     layout(text),
                     {.algorithm = row.algorithm, .lanes = 2, .piece = 2, .reason = {}}});
  }
  return all;
}

Status verdict(const std::vector<Call>& calls) {
  STRAIT_TRY(verify(calls, {}));
  const bool can_be_in_place =
      in_place_offset(calls[0].request, 0, static_cast<int>(calls.size())).has_value();
  return can_be_in_place ? verify(calls, {.in_place = true}) : Status();
}

uint64_t right_output(const Request& request, int rank, int ranks, uint64_t index) {
  const auto sum = [&](uint64_t at) {
    uint64_t total = 0;
    for (int r = 0; r < ranks; ++r) total += Numbers::scaled(Numbers::input(r, at));
    return Numbers::finish(total);
  };
  const uint64_t own_block = request.count * static_cast<uint64_t>(rank);
  const int block = request.count == 0 ? 0 : static_cast<int>(index / request.count);
  switch (request.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      return sum(index);
    case Collective::kReduceScatter:
      return sum(own_block + index);
    case Collective::kBroadcast:
      return Numbers::input(request.root, index);
    case Collective::kScatter:
      return Numbers::input(request.root, own_block + index);
    case Collective::kAllToAll:
      return Numbers::input(block, own_block + index % request.count);
    default:
      return Numbers::input(block, index % request.count);
  }
}

// Whether a plain run gives the right numbers.
bool runs_right(const std::vector<Call>& calls, bool in_place, uint32_t seed) {
  const int ranks = static_cast<int>(calls.size());
  int slots = 1;
  for (const Call& call : calls) slots = std::max(slots, call.plan.slots_min);
  Concrete<Numbers> concrete(calls, {.slots = slots, .in_place = in_place});
  if (!concrete.run(seed)) return false;
  for (int rank = 0; rank < ranks; ++rank) {
    const Request& request = calls[static_cast<size_t>(rank)].request;
    for (uint64_t i = 0; i < output_count(request, rank, ranks); ++i)
      if (concrete.output(static_cast<size_t>(rank), i) != right_output(request, rank, ranks, i))
        return false;
  }
  return true;
}

void expect_harmless(const std::vector<Call>& calls) {
  const bool can_be_in_place =
      in_place_offset(calls[0].request, 0, static_cast<int>(calls.size())).has_value();
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    ASSERT_TRUE(runs_right(calls, false, seed));
    ASSERT_TRUE(!can_be_in_place || runs_right(calls, true, seed));
  }
}

struct Tally {
  int mutants = 0;
  int survivors = 0;
};

Tally try_everywhere(const Mutation& mutation, const std::vector<Call>& good) {
  Tally tally;
  for (size_t rank = 0; rank < good.size(); ++rank)
    for (size_t lane = 0; lane < good[rank].plan.lanes.size(); ++lane)
      for (size_t step = 0; step < good[rank].plan.lanes[lane].steps.size(); ++step) {
        std::vector<Call> mutant = good;
        if (!mutation.apply({mutant[rank].plan, lane, step})) continue;
        ++tally.mutants;
        if (!verdict(mutant).ok()) continue;
        ++tally.survivors;
        SCOPED_TRACE(fmt::format("{} at rank {}, lane {}, step {} of\n{}", mutation.name, rank,
                                 lane, step, format(good[rank].plan)));
        EXPECT_TRUE(mutation.may_be_harmless);
        expect_harmless(mutant);
      }
  return tally;
}

TEST(Mutation, PlainRunsAgreeWithTheVerifierOnGoodPlans) {
  for (const Base& base : bases()) {
    SCOPED_TRACE(describe(base.request, base.topology, base.choice));
    const std::vector<Call> calls = make_calls(base.request, base.topology, base.choice);
    const Status status = verdict(calls);
    ASSERT_TRUE(status.ok()) << status.message();
    expect_harmless(calls);
  }
}

TEST(Mutation, BrokenPlansAreRefused) {
  std::vector<Mutation> mutations = field_mutations();
  for (const auto& more : {sequence_mutations(), plan_mutations()})
    mutations.insert(mutations.end(), more.begin(), more.end());
  Tally all;
  for (const Mutation& mutation : mutations) {
    Tally here;
    for (const Base& base : bases()) {
      SCOPED_TRACE(describe(base.request, base.topology, base.choice));
      const Tally tally =
          try_everywhere(mutation, make_calls(base.request, base.topology, base.choice));
      here.mutants += tally.mutants;
      here.survivors += tally.survivors;
    }
    EXPECT_GT(here.mutants, 0) << mutation.name;
    std::printf("%-30s %6d mutants, %4d harmless\n", mutation.name, here.mutants, here.survivors);
    all.mutants += here.mutants;
    all.survivors += here.survivors;
  }
  std::printf("%-30s %6d mutants, %4d harmless\n", "all", all.mutants, all.survivors);
}

// Mistakes made alike on both ends, so that every message still fits.
TEST(Mutation, MistakesOnWhichBothEndsAgreeAreRefused) {
  for (const Base& base : bases()) {
    SCOPED_TRACE(describe(base.request, base.topology, base.choice));
    const std::vector<Call> good = make_calls(base.request, base.topology, base.choice);
    std::vector<Call> shorter = good;
    std::vector<Call> shifted = good;
    std::vector<Call> finished = good;
    for (size_t rank = 0; rank < good.size(); ++rank)
      for (size_t lane = 0; lane < 2; ++lane)
        for (size_t step = 0; step < good[rank].plan.lanes[lane].steps.size(); ++step) {
          --shorter[rank].plan.lanes[lane].steps[step].count;
          Step& moved = shifted[rank].plan.lanes[lane].steps[step];
          for (auto* place : {&moved.source, &moved.addend})
            if (*place && (*place)->buffer == Buffer::kInput) (*place)->offset ^= 1;
          finished[rank].plan.lanes[lane].steps[step].finish = false;
        }
    EXPECT_FALSE(verdict(shorter).ok());
    EXPECT_FALSE(verdict(shifted).ok());
    EXPECT_EQ(verdict(finished).ok(), !reduces(base.request.collective));
  }
}

}  // namespace
}  // namespace strait::plan_test
