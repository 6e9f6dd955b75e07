#include "perf/engine/seat.hpp"

#include <strait.h>

namespace strait::perf {

Status told(const char* call, ncclResult_t result) {
  if (result == ncclSuccess) return {};
  const std::string sentence = ncclGetLastError(nullptr);
  const auto code = static_cast<Code>(result);
  // The library's sentences begin with the function that failed.
  if (sentence.starts_with("nccl") || sentence.starts_with("strait")) return {code, sentence};
  return error(code, "{}: {}", call, sentence.empty() ? ncclGetErrorString(result) : sentence);
}

Seat::~Seat() {
  // Nothing can be done about a failure here, and the measurement is over.
  if (stream_ != nullptr) (void)straitStreamDestroy(stream_);
  if (comm_ != nullptr) (void)ncclCommDestroy(comm_);
  if (send_ != nullptr) (void)ncclMemFree(send_);
  if (recv_ != nullptr) (void)ncclMemFree(recv_);
}

Status Seat::join(const ncclUniqueId& id, int rank_count, int cta_policy) {
  if (cta_policy < 0)
    return told("ncclCommInitRank", ncclCommInitRank(&comm_, rank_count, id, rank_));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.CTAPolicy = cta_policy;
  return told("ncclCommInitRankConfig",
              ncclCommInitRankConfig(&comm_, rank_count, id, rank_, &config));
}

Status Seat::make_stream() {
  return told("straitStreamCreate", straitStreamCreate(&stream_));
}

Status Seat::make_buffers(size_t bytes) {
  bytes_ = bytes;
  STRAIT_TRY(told("ncclMemAlloc", ncclMemAlloc(&send_, bytes)));
  return told("ncclMemAlloc", ncclMemAlloc(&recv_, bytes));
}

Status Seat::register_buffers() {
  return error(Code::kInvalidUsage, "-R: registration is not in this library yet; leave it out");
}

Status Seat::open_windows() {
  return register_buffers();
}

Status Seat::synchronize() {
  if (stream_ != nullptr)
    STRAIT_TRY(told("straitStreamSynchronize", straitStreamSynchronize(stream_)));
  ncclResult_t failure = ncclSuccess;
  STRAIT_TRY(told("ncclCommGetAsyncError", ncclCommGetAsyncError(comm_, &failure)));
  return told("the collective failed", failure);
}

}  // namespace strait::perf
