// The calls of strait.h: host streams and statistics.

#include "strait.h"

#include <algorithm>
#include <cstring>

#include "api/export.hpp"
#include "api/handle.hpp"
#include "api/result.hpp"
#include "comm/streams.hpp"

namespace strait::api {
namespace {

Status get_stats(ncclComm_t comm, straitCommStats_t* out) {
  STRAIT_ASSIGN(const auto handle, find_handle(comm));
  if (out == nullptr || out->size < sizeof(size_t))
    return error(Code::kInvalidArgument, "stats is NULL or its size is not set: set it to sizeof");
  const Communicator& communicator = *handle->comm;
  const TrafficStats traffic = communicator.stats();
  straitCommStats_t stats{};
  stats.size = std::min(out->size, sizeof stats);
  stats.domain = communicator.topology().domain_of[communicator.rank()];
  stats.domain_count = communicator.topology().domain_count();
  stats.plain_bytes_sent = traffic.plain_bytes;
  stats.coded_value_bytes_sent = traffic.coded_value_bytes;
  stats.coded_wire_bytes_sent = traffic.coded_wire_bytes;
  stats.lent_bytes_sent = traffic.lent_bytes;
  std::memcpy(out, &stats, stats.size);
  return Status();
}

Status get_peer_stats(ncclComm_t comm, int peer, straitPeerStats_t* out) {
  STRAIT_ASSIGN(const auto handle, find_handle(comm));
  const Communicator& communicator = *handle->comm;
  if (peer < 0 || peer >= communicator.rank_count())
    return error(Code::kInvalidArgument, "peer {} is not among the {} ranks (0 to {})", peer,
                 communicator.rank_count(), communicator.rank_count() - 1);
  if (out == nullptr || out->size < sizeof(size_t))
    return error(Code::kInvalidArgument, "stats is NULL or its size is not set: set it to sizeof");
  const CodedBytes sent = communicator.coded_to(peer);
  straitPeerStats_t stats{};
  stats.size = std::min(out->size, sizeof stats);
  stats.coded_value_bytes_sent = sent.value_bytes;
  stats.coded_wire_bytes_sent = sent.wire_bytes;
  std::memcpy(out, &stats, stats.size);
  return Status();
}

}  // namespace
}  // namespace strait::api

using strait::Status;
using strait::api::guarded;

STRAIT_EXPORT ncclResult_t straitStreamCreate(cudaStream_t* stream) {
  return guarded("straitStreamCreate", [&]() -> Status {
    if (stream == nullptr)
      return strait::error(strait::Code::kInvalidArgument, "stream is NULL: give it a place to go");
    *stream = static_cast<cudaStream_t>(strait::open_stream());
    return Status();
  });
}

STRAIT_EXPORT ncclResult_t straitStreamSynchronize(cudaStream_t stream) {
  return guarded("straitStreamSynchronize", [&] { return strait::wait_for_stream(stream); });
}

STRAIT_EXPORT ncclResult_t straitStreamQuery(cudaStream_t stream) {
  bool idle = true;
  const ncclResult_t result = guarded("straitStreamQuery", [&]() -> Status {
    STRAIT_ASSIGN(idle, strait::is_stream_idle(stream));
    return Status();
  });
  return result != ncclSuccess || idle ? result : ncclInProgress;
}

STRAIT_EXPORT ncclResult_t straitStreamDestroy(cudaStream_t stream) {
  return guarded("straitStreamDestroy", [&] { return strait::close_stream(stream); });
}

STRAIT_EXPORT ncclResult_t straitCommGetStats(ncclComm_t comm, straitCommStats_t* stats) {
  return guarded("straitCommGetStats", [&] { return strait::api::get_stats(comm, stats); });
}

STRAIT_EXPORT ncclResult_t straitCommGetPeerStats(ncclComm_t comm, int peer,
                                                  straitPeerStats_t* stats) {
  return guarded("straitCommGetPeerStats",
                 [&] { return strait::api::get_peer_stats(comm, peer, stats); });
}

STRAIT_EXPORT ncclResult_t straitCommResetStats(ncclComm_t comm) {
  return guarded("straitCommResetStats", [&]() -> Status {
    STRAIT_ASSIGN(const auto handle, strait::api::find_handle(comm));
    handle->comm->reset_stats();
    return Status();
  });
}
