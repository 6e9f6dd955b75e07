#include "comm/bootstrap_members.hpp"

namespace strait {

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
  STRAIT_TRY(check_number(request));
  if (!hellos_.empty())
    STRAIT_TRY(check_agreement(first_rank_, hellos_.at(first_rank_), request.rank, request.hello));
  if (hellos_.empty()) {
    rank_count_ = request.rank_count;
    first_rank_ = request.rank;
  }
  hellos_[request.rank] = std::move(request.hello);
  return Status();
}

std::string BootstrapMembers::name(int rank) const {
  const auto found = hellos_.find(rank);
  return found == hellos_.end() ? fmt::format("rank {}", rank) : name_rank(rank, found->second);
}

Status BootstrapMembers::missing(int64_t limit_ms) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < rank_count_; ++rank)
    if (!hellos_.contains(rank)) ranks.push_back(rank);
  return error(Code::kTimeout,
               "{} did not arrive within {} ms; see whether they were started and can reach this "
               "host, or raise STRAIT_INIT_TIMEOUT_MS",
               list_ranks(ranks, rank_count_), limit_ms);
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
  std::vector<int> ranks;
  for (int rank = 0; rank < rank_count_; ++rank)
    if (!said_.contains(rank)) ranks.push_back(rank);
  return error(Code::kTimeout, "{} did not come to round {} of the bootstrap within {} ms",
               list_ranks(ranks, rank_count_), round_ + 1, limit_ms);
}

}  // namespace strait
