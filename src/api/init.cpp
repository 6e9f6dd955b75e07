// Making communicators from an id: ncclGetUniqueId, ncclCommInitRank and its variants,
// ncclCommInitAll.

#include <cstring>
#include <optional>

#include "api/export.hpp"
#include "api/making.hpp"
#include "api/result.hpp"
#include "api/unique_id.hpp"
#include "comm/bootstrap.hpp"
#include "comm/group.hpp"
#include "comm/join.hpp"

namespace strait::api {
namespace {

Status get_unique_id(ncclUniqueId* out) {
  if (out == nullptr)
    return error(Code::kInvalidArgument, "uniqueId is NULL: give it a place to go");
  STRAIT_ASSIGN(const Config config, read_settings(nullptr));
  STRAIT_ASSIGN(const UniqueId id, make_unique_id(config));
  *out = to_nccl(id);
  return Status();
}

Status check_ranks(int rank, int rank_count) {
  if (rank_count < 1)
    return error(Code::kInvalidArgument, "a communicator of {} ranks: nranks must be 1 or more",
                 rank_count);
  if (rank < 0 || rank >= rank_count)
    return error(Code::kInvalidArgument, "rank {} is not among the {} ranks (0 to {})", rank,
                 rank_count, rank_count - 1);
  return Status();
}

// One rank of a communicator of its own.
Status submit_rank(ncclComm_t* out, std::vector<UniqueId> ids, Meeting meeting,
                   const Config& config, std::optional<int> ordinal) {
  STRAIT_ASSIGN(const Device device, device_of_caller(config, ordinal));
  // A meeting point that the setting fixes is one, however often it is named.
  if (ids.front().fixed_root) ids.resize(1);
  meeting.id = ids[static_cast<size_t>(meeting.rank) % ids.size()];
  NewComm comm{.out = out, .config = config, .make = {}, .give_up = {}};
  comm.give_up = [meeting](const Status& why) { report_failure(meeting, why); };
  comm.make = [ids, meeting, config, device](const std::shared_ptr<Progress>& progress) {
    JoinTerms terms{
        .meeting = meeting, .ids = ids, .config = config, .device = device, .progress = progress};
    terms.meeting.id = ids.front();
    terms.meeting.stop = progress->blocking() ? std::stop_token() : progress->stop_token();
    return join(std::move(terms));
  };
  return submit(std::move(comm));
}

Result<Config> check_and_read(int rank, int rank_count, const ncclConfig_t* options) {
  STRAIT_TRY(check_ranks(rank, rank_count));
  return read_settings(options);
}

Status init_rank(ncclComm_t* out, int rank_count, std::span<const ncclUniqueId> id_bytes, int rank,
                 const ncclConfig_t* options) {
  if (out == nullptr) return error(Code::kInvalidArgument, "comm is NULL: give it a place to go");
  *out = nullptr;
  std::vector<UniqueId> ids;
  for (const ncclUniqueId& bytes : id_bytes) {
    STRAIT_ASSIGN(UniqueId id, from_nccl(bytes));
    ids.push_back(std::move(id));
  }
  const Meeting meeting{.id = ids.front(), .rank = rank, .rank_count = rank_count};
  const auto config = check_and_read(rank, rank_count, options);
  if (!config.ok()) {
    // The others would wait for this rank until their deadline.
    report_failure(meeting, config.status());
    return config.status();
  }
  return submit_rank(out, std::move(ids), meeting, *config, std::nullopt);
}

Status init_scalable(ncclComm_t* out, int rank_count, int rank, int id_count,
                     const ncclUniqueId* ids, const ncclConfig_t* options) {
  if (ids == nullptr || id_count < 1)
    return error(Code::kInvalidArgument,
                 "commIds is {} and nId is {}: give at least one id of ncclGetUniqueId",
                 ids == nullptr ? "NULL" : "there", id_count);
  if (id_count > rank_count)
    return error(Code::kInvalidArgument,
                 "nId is {} but there are {} ranks: at most one id for each rank", id_count,
                 rank_count);
  return init_rank(out, rank_count, {ids, static_cast<size_t>(id_count)}, rank, options);
}

Status init_all(ncclComm_t* comms, int device_count, const int* devices) {
  if (comms == nullptr)
    return error(Code::kInvalidArgument, "comms is NULL: give it room for ndev");
  STRAIT_TRY(check_ranks(0, device_count));
  for (int i = 0; devices != nullptr && i < device_count; ++i)
    if (devices[i] < 0)
      return error(Code::kInvalidArgument, "devlist[{}] is {}: devices count from 0", i,
                   devices[i]);
  STRAIT_ASSIGN(Config config, read_settings(nullptr));
  config.blocking = 1;  // who gets all handles at once has nothing to ask in between
  STRAIT_ASSIGN(const UniqueId id, make_unique_id(config));
  Group& group = Group::current();
  group.start();
  for (int i = 0; i < device_count; ++i) {
    comms[i] = nullptr;
    const Status submitted =
        submit_rank(&comms[i], {id}, {.id = id, .rank = i, .rank_count = device_count}, config,
                    devices != nullptr ? devices[i] : i);
    if (submitted.ok()) continue;
    [[maybe_unused]] const Status told = group.refuse(submitted);  // by the end of the group
    break;
  }
  return group.end();
}

}  // namespace
}  // namespace strait::api

using strait::api::guarded;
using strait::api::refuse_in_group;

STRAIT_API(ncclResult_t, GetUniqueId, (ncclUniqueId * uniqueId)) {
  return guarded("ncclGetUniqueId", [&] { return strait::api::get_unique_id(uniqueId); });
}

STRAIT_API(ncclResult_t, CommInitRank,
           (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank)) {
  return guarded("ncclCommInitRank", [&] {
    return refuse_in_group(strait::api::init_rank(comm, nranks, {&commId, 1}, rank, nullptr));
  });
}

STRAIT_API(ncclResult_t, CommInitRankConfig,
           (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config)) {
  return guarded("ncclCommInitRankConfig", [&] {
    return refuse_in_group(strait::api::init_rank(comm, nranks, {&commId, 1}, rank, config));
  });
}

STRAIT_API(ncclResult_t, CommInitRankScalable,
           (ncclComm_t * newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds,
            ncclConfig_t* config)) {
  return guarded("ncclCommInitRankScalable", [&] {
    return refuse_in_group(
        strait::api::init_scalable(newcomm, nranks, myrank, nId, commIds, config));
  });
}

STRAIT_API(ncclResult_t, CommInitAll, (ncclComm_t * comms, int ndev, const int* devlist)) {
  return guarded("ncclCommInitAll",
                 [&] { return refuse_in_group(strait::api::init_all(comms, ndev, devlist)); });
}
