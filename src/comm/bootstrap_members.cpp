#include "comm/bootstrap_members.hpp"

#include <algorithm>
#include <numeric>

namespace strait {

std::vector<int> every_rank(int rank_count) {
  std::vector<int> ranks(static_cast<size_t>(std::max(rank_count, 0)));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Status BootstrapMembers::check_number(const JoinRequest& request) const {
  const std::string name = name_rank(request.rank, request.hello);
  if (request.rank_count < 1 || request.rank < 0 || request.rank >= request.rank_count)
    return error(Code::kInvalidArgument, "{} is out of range: there are {} ranks, numbered from 0",
                 name, request.rank_count);
  if (rank_count_ != 0 && request.rank_count != rank_count_)
    return error(Code::kInvalidArgument,
                 "{} was given {} ranks, {} was given {}; give all ranks of a communicator the "
                 "same number",
                 name, request.rank_count, this->name(first_rank_), rank_count_);
  if (!std::ranges::binary_search(request.members, request.rank) ||
      (rank_count_ != 0 && request.members != members_))
    return error(Code::kInvalidArgument,
                 "{} and {} do not mean the same ranks; give all ranks of a communicator the same "
                 "arguments",
                 name, this->name(first_rank_));
  const auto twin = hellos_.find(request.rank);
  if (twin != hellos_.end())
    return error(Code::kInvalidArgument,
                 "rank {} joined twice, from host {} (process {}) and from host {} (process {}); "
                 "give every rank its own number",
                 request.rank, twin->second.host, twin->second.pid, request.hello.host,
                 request.hello.pid);
  return Status();
}

Status BootstrapMembers::join(JoinRequest request) {
  if (request.members.empty()) request.members = every_rank(request.rank_count);
  STRAIT_TRY(check_number(request));
  if (!hellos_.empty())
    STRAIT_TRY(check_agreement(first_rank_, hellos_.at(first_rank_), request.rank, request.hello));
  if (hellos_.empty()) {
    rank_count_ = request.rank_count;
    members_ = std::move(request.members);
    first_rank_ = request.rank;
  }
  hellos_[request.rank] = std::move(request.hello);
  return Status();
}

std::string BootstrapMembers::name(int rank) const {
  const auto found = hellos_.find(rank);
  return found == hellos_.end() ? fmt::format("rank {}", rank) : name_rank(rank, found->second);
}

std::vector<int> BootstrapMembers::without(const auto& present) const {
  std::vector<int> ranks;
  for (const int rank : members_)
    if (!present.contains(rank)) ranks.push_back(rank);
  return ranks;
}

Status BootstrapMembers::missing(int64_t limit_ms) const {
  return error(Code::kTimeout,
               "{} did not arrive within {} ms; see whether they were started and can reach this "
               "host, or raise STRAIT_INIT_TIMEOUT_MS",
               list_ranks(without(hellos_), rank_count_), limit_ms);
}

bool BootstrapMembers::speak(int rank, std::vector<std::byte> bytes) {
  return said_.try_emplace(rank, std::move(bytes)).second;
}

std::map<int, std::vector<std::byte>> BootstrapMembers::take_round() {
  ++round_;
  return std::exchange(said_, {});
}

Status BootstrapMembers::check_left() const {
  if (said_.empty()) return Status();
  for (const int rank : left_)
    if (!said_.contains(rank))
      return error(Code::kRemoteError, "{} left the communicator while others waited for it",
                   name(rank));
  return Status();
}

Status BootstrapMembers::silent(int64_t limit_ms) const {
  return error(Code::kTimeout, "{} did not come to round {} of the bootstrap within {} ms",
               list_ranks(without(said_), rank_count_), round_ + 1, limit_ms);
}

}  // namespace strait
