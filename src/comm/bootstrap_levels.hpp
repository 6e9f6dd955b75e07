// A bootstrap with several roots, for very many ranks: each root serves a part of them, and the
// first rank of each further part speaks for it at the first root. Looks like any other bootstrap.
//
//   part 0: root 0   part 1: root 1   part 2: root 2      a round: in at the own root, across at
//    0  1  2  3       4  5  6  7       8  9 10 11         root 0, out at the own root; with r roots
//    |  |  |  |       |                |                  of n ranks root 0 serves n/r + r - 1
//   [root 0]----------+----------------+                  connections, each other root n/r
//
// Failures of one part reach the others with the round in which they are waited for.
#pragma once

#include <memory>
#include <vector>

#include "comm/bootstrap.hpp"

namespace strait {

// `ids` are the same on all ranks, in the same order; at most one per rank. The meeting's own id
// and members are not looked at.
Result<std::unique_ptr<Bootstrap>> join_levels(const std::vector<UniqueId>& ids,
                                               const Meeting& meeting, const Config& config,
                                               const Hello& hello, Deadline deadline);

// The root that serves a rank, and the first rank that it serves.
int part_of(int rank, int rank_count, int part_count);
int first_of_part(int part, int rank_count, int part_count);

}  // namespace strait
