// What the tests of plans share: layouts, and the plans of all ranks. Functions that return values;
// any thread; a plan costs what its planner costs. concrete.hpp runs what they return.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/planners.hpp"
#include "plan/verifier.hpp"
#include "topology/topology.hpp"

namespace strait::plan_test {

inline Topology layout(std::string_view description) {
  return synthetic(description).value();
}

inline std::vector<Topology> flat_layouts() {
  std::vector<Topology> layouts;
  for (int ranks = 1; ranks <= 9; ++ranks) layouts.push_back(Topology::flat(ranks));
  return layouts;
}

inline std::vector<Topology> level_layouts() {
  std::vector<Topology> layouts;
  for (const char* text :
       {"1+1", "2+2", "4+4", "3+3+3", "7+8", "1+3", "3+1", "2+1+3", "1+1+1+1+1", "1+4+1+6"})
    layouts.push_back(layout(text));
  layouts.push_back(Topology::from_names({"a", "b", "a", "b", "b", "c", "a"}));
  return layouts;
}

inline std::vector<Topology> all_layouts() {
  std::vector<Topology> layouts = flat_layouts();
  for (const Topology& topology : level_layouts()) layouts.push_back(topology);
  return layouts;
}

inline std::string describe(const Request& request, const Topology& topology,
                            const Choice& choice) {
  return fmt::format("{} {} of {} root {}, {}, {} lanes, pieces of {}", name_of(choice.algorithm),
                     name_of(request.collective), request.count, request.root, format(topology),
                     choice.lanes, choice.piece);
}

// The calls of all ranks of a collective.
inline std::vector<Call> make_calls(const Request& request, const Topology& topology,
                                    const Choice& choice) {
  std::vector<Call> calls;
  for (int rank = 0; rank < topology.rank_count(); ++rank)
    calls.push_back({request, make_plan(request, topology, choice, rank).value()});
  return calls;
}

}  // namespace strait::plan_test
