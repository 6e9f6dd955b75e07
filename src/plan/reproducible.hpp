// What sums of floats promise beyond the same bits run after run on one layout (the setting
// REPRODUCIBLE): the same bits whatever the size of the message, its pieces and lanes, or whatever
// the placement of the ranks too. A property of the choice, nothing else: every algorithm adds one
// element up in a fixed order, so the promise is kept by choosing among algorithms of one order.
//
//   rank order   one_shot, two_shot, direct; hierarchical in one domain: the owner of an element
//   adds
//                up all ranks' values and rounds once
//   two levels   hierarchical over several domains: depends on which ranks are in which
//   one tree     tree, all lanes up the same one: over the places of the layout, or over rank
//   numbers
//
// Pure functions; any thread.
#pragma once

#include "base/algorithms.hpp"
#include "base/config.hpp"
#include "plan/request.hpp"
#include "topology/topology.hpp"

namespace strait {

enum class Reproducible : uint8_t {
  kOnLayout,          // run after run
  kWhateverSize,      // and for every size, piece and number of lanes
  kWhateverPlacement  // and for every division into domains
};

// Of a request: sums of integers, and what adds nothing, are what they are in any order.
Reproducible reproducible_of(const Request& request, const Config& config);

// The algorithms of one order of addition among which a request of any size may choose; of those
// that are `allowed`, if that leaves an order.
AlgorithmSet steady_algorithms(Collective collective, const Topology& topology, Reproducible wish,
                               AlgorithmSet allowed);

}  // namespace strait
