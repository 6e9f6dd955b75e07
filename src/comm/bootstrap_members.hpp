// The state of one bootstrap's root as pure rules, without sockets or clocks: who has joined, what
// is missing, who may not join. One thread at a time.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/status.hpp"
#include "comm/agreement.hpp"

namespace strait {

struct JoinRequest {
  int rank = 0;
  int rank_count = 0;             // of the communicator
  std::vector<int> members = {};  // the ranks that meet here, ascending; empty: all
  int64_t limit_ms = 0;           // how long this rank waits for the others
  Hello hello;
};

// 0 to rank_count - 1
std::vector<int> every_rank(int rank_count);

class BootstrapMembers {
 public:
  // Takes the rank in, or says why the communicator cannot come about.
  Status join(JoinRequest request);
  bool complete() const { return rank_count_ > 0 && hellos_.size() == members_.size(); }
  // Who must be there; empty until the first has joined.
  const std::vector<int>& members() const { return members_; }
  bool joined(int rank) const { return hellos_.contains(rank); }
  const std::map<int, Hello>& hellos() const { return hellos_; }
  // "rank 3 (host b, process 4711)"; without the brackets for a rank that has not joined.
  std::string name(int rank) const;
  // The verdict when the ranks did not all arrive in time.
  Status missing(int64_t limit_ms) const;

  // Rounds after all have joined. False when the rank has spoken in this round already.
  bool speak(int rank, std::vector<std::byte> bytes);
  bool round_complete() const { return said_.size() == members_.size(); }
  std::map<int, std::vector<std::byte>> take_round();
  uint32_t round() const { return round_; }
  void leave(int rank) { left_.insert(rank); }
  bool all_left() const { return complete() && left_.size() == members_.size(); }
  // A failure when a rank that has left is awaited by others.
  Status check_left() const;
  Status silent(int64_t limit_ms) const;

 private:
  Status check_number(const JoinRequest& request) const;
  std::vector<int> without(const auto& present) const;

  int rank_count_ = 0;
  std::vector<int> members_;
  int first_rank_ = 0;
  std::map<int, Hello> hellos_;
  uint32_t round_ = 0;
  std::map<int, std::vector<std::byte>> said_;
  std::set<int> left_;
};

}  // namespace strait
