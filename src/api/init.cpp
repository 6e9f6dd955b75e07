// Making communicators: ncclGetUniqueId, ncclCommInitRank, ncclCommInitRankConfig, ncclCommInitAll.

#include <unistd.h>

#include <cstring>
#include <mutex>

#include "api/comm_config.hpp"
#include "api/export.hpp"
#include "api/handle.hpp"
#include "api/result.hpp"
#include "base/log.hpp"
#include "comm/bootstrap.hpp"
#include "comm/group.hpp"

namespace strait::api {
namespace {

// The environment is read here, never at load time: programs set variables before they make a
// communicator.
Result<Config> read_settings() {
  STRAIT_ASSIGN(Config config, Config::from_environment());
  set_log(config.debug, config.debug_file);
  static std::once_flag warned;
  std::call_once(warned, [] {
    for (const std::string& warning : unknown_settings(environ)) log_warn("{}", warning);
  });
  return config;
}

Status get_unique_id(ncclUniqueId* out) {
  if (out == nullptr)
    return error(Code::kInvalidArgument, "uniqueId is NULL: give it a place to go");
  STRAIT_ASSIGN(const Config config, read_settings());
  STRAIT_ASSIGN(const UniqueId id, make_unique_id(config));
  const UniqueId::Bytes bytes = id.bytes();
  static_assert(sizeof(ncclUniqueId) == sizeof bytes);
  std::memcpy(out->internal, bytes.data(), bytes.size());
  return Status();
}

Result<UniqueId> parse(const ncclUniqueId& id) {
  UniqueId::Bytes bytes;
  std::memcpy(bytes.data(), id.internal, bytes.size());
  return UniqueId::parse(bytes);
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

struct Making {
  UniqueId id;
  int rank;
  int rank_count;
  int device;
  Config config;
  ncclComm_t* out;

  Status operator()() const {
    STRAIT_ASSIGN(auto comm, Communicator::join(id, rank, rank_count, device, config));
    *out = add_handle(std::move(comm));
    return Status();
  }
};

Result<Config> check_and_read(int rank, int rank_count, const ncclConfig_t* options) {
  STRAIT_TRY(check_ranks(rank, rank_count));
  STRAIT_TRY(check_comm_config(options));
  return read_settings();
}

Status init_rank(ncclComm_t* out, int rank_count, const ncclUniqueId& id_bytes, int rank,
                 const ncclConfig_t* options) {
  if (out == nullptr) return error(Code::kInvalidArgument, "comm is NULL: give it a place to go");
  *out = nullptr;
  STRAIT_ASSIGN(const UniqueId id, parse(id_bytes));
  const auto config = check_and_read(rank, rank_count, options);
  if (!config.ok()) {
    // The others would wait for this rank until their deadline.
    report_failure(id, rank, config.status());
    return config.status();
  }
  return Group::current().submit_making(Making{.id = id,
                                               .rank = rank,
                                               .rank_count = rank_count,
                                               .device = 0,
                                               .config = *config,
                                               .out = out});
}

Status init_all(ncclComm_t* comms, int device_count, const int* devices) {
  if (comms == nullptr)
    return error(Code::kInvalidArgument, "comms is NULL: give it room for ndev");
  STRAIT_TRY(check_ranks(0, device_count));
  for (int i = 0; devices != nullptr && i < device_count; ++i)
    if (devices[i] < 0)
      return error(Code::kInvalidArgument, "devlist[{}] is {}: devices count from 0", i,
                   devices[i]);
  STRAIT_ASSIGN(const Config config, read_settings());
  STRAIT_ASSIGN(const UniqueId id, make_unique_id(config));
  Group& group = Group::current();
  group.start();
  for (int i = 0; i < device_count; ++i) {
    comms[i] = nullptr;
    STRAIT_TRY(group.submit_making(Making{.id = id,
                                          .rank = i,
                                          .rank_count = device_count,
                                          .device = devices != nullptr ? devices[i] : i,
                                          .config = config,
                                          .out = &comms[i]}));
  }
  return group.end();
}

Status refuse_in_group(const Status& status) {
  return status.ok() ? status : Group::current().refuse(status);
}

}  // namespace
}  // namespace strait::api

STRAIT_API(ncclResult_t, GetUniqueId, (ncclUniqueId * uniqueId)) {
  return strait::api::guarded("ncclGetUniqueId",
                              [&] { return strait::api::get_unique_id(uniqueId); });
}

STRAIT_API(ncclResult_t, CommInitRank,
           (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank)) {
  return strait::api::guarded("ncclCommInitRank", [&] {
    return strait::api::refuse_in_group(
        strait::api::init_rank(comm, nranks, commId, rank, nullptr));
  });
}

STRAIT_API(ncclResult_t, CommInitRankConfig,
           (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t* config)) {
  return strait::api::guarded("ncclCommInitRankConfig", [&] {
    return strait::api::refuse_in_group(strait::api::init_rank(comm, nranks, commId, rank, config));
  });
}

STRAIT_API(ncclResult_t, CommInitAll, (ncclComm_t * comms, int ndev, const int* devlist)) {
  return strait::api::guarded("ncclCommInitAll", [&] {
    return strait::api::refuse_in_group(strait::api::init_all(comms, ndev, devlist));
  });
}
