// What the direct algorithms share: in which order a rank talks to the others of a group, and who
// contributes to a sum. Pure functions; any thread; they cost the list they return.
#pragma once

#include <vector>

#include "plan/draft.hpp"

namespace strait {

std::vector<int> all_ranks(int rank_count);

// The others of an ascending group, beginning after `rank`, so that not everyone starts with the
// same peer. `rank` need not be one of them.
std::vector<int> peers_after(const std::vector<int>& group, int rank);

// The summands of an ascending group in its order: what the others send, and `own` at the place of
// `rank`.
std::vector<Summand> contributions(const std::vector<int>& group, int rank, Place own);

}  // namespace strait
