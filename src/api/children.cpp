// Making communicators from one that exists: ncclCommSplit, ncclCommShrink, ncclCommGetUniqueId,
// ncclCommGrow.

#include "comm/children.hpp"

#include <algorithm>

#include "api/export.hpp"
#include "api/making.hpp"
#include "api/result.hpp"
#include "api/unique_id.hpp"
#include "comm/join.hpp"

namespace strait::api {
namespace {

Status check_out(ncclComm_t* out) {
  if (out == nullptr)
    return error(Code::kInvalidArgument, "newcomm is NULL: give it a place to go");
  *out = nullptr;
  return Status();
}

// A parent whose work may have ended badly: revoked, or about to be ended.
Result<std::shared_ptr<Handle>> find_parent(ncclComm_t comm, bool may_have_failed) {
  STRAIT_ASSIGN(auto handle, find_any_handle(comm));
  const std::shared_ptr<Communicator> made = handle->made();
  bool revoked = false;
  {
    std::lock_guard lock(handle->mutex);
    if (handle->finalized)
      return error(Code::kInvalidUsage, "the communicator was finalized: make a new one");
    revoked = handle->revoked;
  }
  const bool forgiven = made != nullptr && (revoked || may_have_failed);
  if (forgiven) handle->progress->forget_failure();
  STRAIT_TRY(handle->progress->check_idle());
  if (!forgiven) STRAIT_TRY(made->failure());
  return handle;
}

// NULL inherits all; a config inherits only whether to block, where it does not say.
Result<Config> child_config(const Communicator& parent, const ncclConfig_t* options) {
  if (options == nullptr) return parent.config();
  STRAIT_ASSIGN(Config config, read_settings(options));
  if (config.blocking < 0) config.blocking = parent.config().blocking;
  return config;
}

std::stop_token stop_of(const Handle& parent) {
  return parent.progress->blocking() ? std::stop_token() : parent.progress->stop_token();
}

ChildTerms terms_of(const std::shared_ptr<Handle>& parent, const std::string& purpose,
                    const Config& config) {
  return {.parent = parent->comm,
          .purpose = parent->comm->next_child(purpose),
          .config = config,
          .progress = {},
          .stop = stop_of(*parent)};
}

// A band of the parent's station, where the child is to share it. All ranks decide alike.
int band_for(const Handle& parent, int64_t share) {
  return share == 1 && parent.comm->failure().ok() ? parent.comm->parts().station->take_band() : 0;
}

std::string name_of(const Communicator& comm) {
  return fmt::format("rank {}", comm.rank());
}

// Whoever waits for this rank hears of it when the parent is aborted or the time is over: there is
// nobody yet who could tell.
void tell_nobody(const Status&) {}

Status split(ncclComm_t comm, int color, int key, ncclComm_t* out, const ncclConfig_t* options) {
  STRAIT_TRY(check_out(out));
  STRAIT_ASSIGN(const auto parent, find_parent(comm, false));
  const auto read = child_config(*parent->comm, options);
  Status wrong = read.status();
  if (color < NCCL_SPLIT_NOCOLOR)
    wrong = error(Code::kInvalidArgument,
                  "color {} is negative: give 0 or more, or NCCL_SPLIT_NOCOLOR", color);
  const Config config = read.ok() ? *read : parent->comm->config();
  ChildTerms terms = terms_of(parent, "split", config);
  if (!wrong.ok()) {
    refuse_split(terms, wrong.at(name_of(*parent->comm)));
    return wrong;
  }
  terms.band = band_for(*parent, parent->comm->config().split_share);
  return submit({.out = out,
                 .config = config,
                 .make =
                     [terms, color, key](const std::shared_ptr<Progress>& progress) {
                       ChildTerms own = terms;
                       own.progress = progress;
                       return strait::split(own, color, key);
                     },
                 .give_up = tell_nobody,
                 .parent = parent});
}

// The ranks that stay, ascending.
Result<std::vector<int>> survivors(const Communicator& parent, std::span<const int> excluded) {
  std::vector<bool> stays(static_cast<size_t>(parent.rank_count()), true);
  for (const int rank : excluded) {
    if (rank < 0 || rank >= parent.rank_count())
      return error(Code::kInvalidArgument, "excludeRanksList has rank {}: there are ranks 0 to {}",
                   rank, parent.rank_count() - 1);
    if (!stays[static_cast<size_t>(rank)])
      return error(Code::kInvalidArgument, "excludeRanksList has rank {} twice", rank);
    stays[static_cast<size_t>(rank)] = false;
  }
  if (!stays[static_cast<size_t>(parent.rank())])
    return error(Code::kInvalidArgument,
                 "excludeRanksList has this rank, {}: only ranks that stay make the call",
                 parent.rank());
  std::vector<int> ranks;
  for (int rank = 0; rank < parent.rank_count(); ++rank)
    if (stays[static_cast<size_t>(rank)]) ranks.push_back(rank);
  return ranks;
}

Status shrink(ncclComm_t comm, const int* excluded, int excluded_count, ncclComm_t* out,
              const ncclConfig_t* options, int flags) {
  STRAIT_TRY(check_out(out));
  if (flags != NCCL_SHRINK_DEFAULT && flags != NCCL_SHRINK_ABORT)
    return error(Code::kInvalidArgument, "shrinkFlags is {}: there are DEFAULT (0) and ABORT (1)",
                 flags);
  if (excluded == nullptr || excluded_count < 1)
    return error(Code::kInvalidArgument,
                 "excludeRanksList names no rank: name those that shall leave");
  const bool abort = flags == NCCL_SHRINK_ABORT;
  const auto found = find_parent(comm, abort);
  if (!found.ok()) return found.status();
  const std::shared_ptr<Handle> parent = *found;
  std::vector<int> list(excluded, excluded + excluded_count);
  std::ranges::sort(list);
  STRAIT_ASSIGN(const std::vector<int> ranks, survivors(*parent->comm, list));
  const auto read = child_config(*parent->comm, options);
  const Config config = read.ok() ? *read : parent->comm->config();
  ChildTerms terms = terms_of(parent, shrink_purpose(list), config);
  if (!read.ok()) {
    refuse_shrink(terms, ranks, read.status().at(name_of(*parent->comm)));
    return read.status();
  }
  if (!abort) terms.band = band_for(*parent, parent->comm->config().shrink_share);
  return submit({.out = out,
                 .config = config,
                 .make =
                     [terms, ranks, abort](const std::shared_ptr<Progress>& progress) {
                       ChildTerms own = terms;
                       own.progress = progress;
                       if (abort)
                         own.parent->end_work(error(Code::kInvalidUsage,
                                                    "ncclCommShrink ended the work of the parent"));
                       return strait::shrink(own, ranks);
                     },
                 .give_up = tell_nobody,
                 .parent = parent});
}

Status get_grow_id(ncclComm_t comm, ncclUniqueId* out) {
  if (out == nullptr)
    return error(Code::kInvalidArgument, "uniqueId is NULL: give it a place to go");
  STRAIT_ASSIGN(const auto parent, find_parent(comm, false));
  std::lock_guard lock(parent->mutex);
  if (!parent->grow_purpose.empty())
    return error(Code::kInvalidUsage,
                 "this communicator has given an id that no ncclCommGrow has used yet: use that "
                 "one first");
  parent->grow_purpose = parent->comm->peek_child("grow");
  *out = to_nccl(grow_id(*parent->comm, parent->grow_purpose));
  return Status();
}

// A rank of the parent. Only the coordinator has the id; the others need none.
Status grow_old(ncclComm_t comm, int rank_count, const ncclUniqueId* id_bytes, int rank,
                ncclComm_t* out, const ncclConfig_t* options) {
  STRAIT_ASSIGN(const auto parent, find_parent(comm, false));
  const Communicator& old = *parent->comm;
  if (rank != -1)
    return error(Code::kInvalidArgument,
                 "rank is {}: ranks of the communicator keep their number and give -1", rank);
  if (rank_count <= old.rank_count())
    return error(Code::kInvalidArgument,
                 "nRanks is {}: it must be more than the {} ranks that there are", rank_count,
                 old.rank_count());
  if (id_bytes != nullptr) {
    STRAIT_ASSIGN(const UniqueId id, from_nccl(*id_bytes));
    if (id != grow_id(old, old.peek_child("grow")))
      return error(Code::kInvalidArgument,
                   "uniqueId is not the one of this communicator's next ncclCommGrow: get it from "
                   "ncclCommGetUniqueId, for one call each");
  }
  const auto read = child_config(old, options);
  const Config config = read.ok() ? *read : old.config();
  const ChildTerms terms = terms_of(parent, "grow", config);
  {
    std::lock_guard lock(parent->mutex);
    parent->grow_purpose.clear();
  }
  if (!read.ok()) {
    refuse_grow(terms, rank_count, read.status().at(name_of(old)));
    return read.status();
  }
  return submit({.out = out,
                 .config = config,
                 .make =
                     [terms, rank_count](const std::shared_ptr<Progress>& progress) {
                       ChildTerms own = terms;
                       own.progress = progress;
                       return strait::grow(own, rank_count);
                     },
                 .give_up = tell_nobody,
                 .parent = parent});
}

// A rank that comes to the communicator.
Status grow_new(int rank_count, const ncclUniqueId* id_bytes, int rank, ncclComm_t* out,
                const ncclConfig_t* options) {
  if (id_bytes == nullptr)
    return error(Code::kInvalidArgument,
                 "uniqueId is NULL: a new rank needs the id that one rank of the communicator got "
                 "from ncclCommGetUniqueId");
  STRAIT_ASSIGN(const UniqueId id, from_nccl(*id_bytes));
  if (!id.late_root)
    return error(Code::kInvalidArgument,
                 "uniqueId is one for a new communicator: ncclCommGrow takes that of "
                 "ncclCommGetUniqueId");
  if (rank < 0 || rank >= rank_count)
    return error(Code::kInvalidArgument, "rank {} is not among the {} ranks (0 to {})", rank,
                 rank_count, rank_count - 1);
  STRAIT_ASSIGN(const Config config, read_settings(options));
  STRAIT_ASSIGN(const Device device, device_of_caller(config, std::nullopt));
  const Meeting meeting{.id = id, .rank = rank, .rank_count = rank_count};
  return submit(
      {.out = out,
       .config = config,
       .make =
           [meeting, config, device](const std::shared_ptr<Progress>& progress) {
             JoinTerms terms{
                 .meeting = meeting, .config = config, .device = device, .progress = progress};
             if (!progress->blocking()) terms.meeting.stop = progress->stop_token();
             return join(std::move(terms));
           },
       .give_up = [meeting](const Status& why) { report_failure(meeting, why); }});
}

Status grow(ncclComm_t comm, int rank_count, const ncclUniqueId* id, int rank, ncclComm_t* out,
            const ncclConfig_t* options) {
  STRAIT_TRY(check_out(out));
  return comm == nullptr ? grow_new(rank_count, id, rank, out, options)
                         : grow_old(comm, rank_count, id, rank, out, options);
}

}  // namespace
}  // namespace strait::api

using strait::api::guarded;
using strait::api::refuse_in_group;

STRAIT_API(ncclResult_t, CommSplit,
           (ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config)) {
  return guarded("ncclCommSplit", [&] {
    return refuse_in_group(strait::api::split(comm, color, key, newcomm, config));
  });
}

STRAIT_API(ncclResult_t, CommShrink,
           (ncclComm_t comm, int* excludeRanksList, int excludeRanksCount, ncclComm_t* newcomm,
            ncclConfig_t* config, int shrinkFlags)) {
  return guarded("ncclCommShrink", [&] {
    return refuse_in_group(strait::api::shrink(comm, excludeRanksList, excludeRanksCount, newcomm,
                                               config, shrinkFlags));
  });
}

STRAIT_API(ncclResult_t, CommGetUniqueId, (ncclComm_t comm, ncclUniqueId* uniqueId)) {
  return guarded("ncclCommGetUniqueId", [&] { return strait::api::get_grow_id(comm, uniqueId); });
}

STRAIT_API(ncclResult_t, CommGrow,
           (ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
            ncclComm_t* newcomm, ncclConfig_t* config)) {
  return guarded("ncclCommGrow", [&] {
    return refuse_in_group(strait::api::grow(comm, nRanks, uniqueId, rank, newcomm, config));
  });
}
