// Communicators made from another one, the parent, without an id that users hand round. The ranks
// know each other's places and share a secret, so each computes the id of the next meeting from the
// text that next_child() gives, and the first of them hosts it.
//
// Blocks like join(); any thread. Several may be made from one parent at once, if each took its
// text in the program's order.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace strait {

// What all kinds have in common.
struct ChildTerms {
  std::shared_ptr<Communicator> parent;
  std::string purpose;  // from next_child()
  Config config;
  std::shared_ptr<Progress> progress;  // the child's
  std::stop_token stop = {};
  int band = 0;  // taken from the parent's station, where the child is to share it; else 0
};

inline constexpr int kNoColor = -1;

// One meeting of all ranks, at the parent's rank 0, tells the colors; then each color meets by
// itself, or shares the parent's station and is done. Null for kNoColor.
Result<std::shared_ptr<Communicator>> split(const ChildTerms& terms, int color, int key);

// `ranks` of the parent, ascending, in that order; called by these alone. The parent may have
// failed.
Result<std::shared_ptr<Communicator>> shrink(const ChildTerms& terms,
                                             const std::vector<int>& ranks);

// In place of these, by a rank that takes no part: those who wait for it learn why. Waits for them
// a moment.
void refuse_split(const ChildTerms& terms, const Status& why);
void refuse_shrink(const ChildTerms& terms, const std::vector<int>& ranks, const Status& why);
void refuse_grow(const ChildTerms& terms, int rank_count, const Status& why);

// The id by which further ranks come to a growing parent; they pass it to join().
UniqueId grow_id(const Communicator& parent, const std::string& purpose);
Result<std::shared_ptr<Communicator>> grow(const ChildTerms& terms, int rank_count);

// "shrink without 3, 5"
std::string shrink_purpose(const std::vector<int>& excluded);

}  // namespace strait
