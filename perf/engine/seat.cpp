#include "perf/engine/seat.hpp"

namespace strait::perf {

Seat::~Seat() {
  // Nothing can be done about a failure here, and the measurement is over.
  for (void* handle : handles_)
    if (handle != nullptr) (void)ncclCommDeregister(comm_, handle);
  for (const ncclWindow_t window : windows_)
    if (window != nullptr) (void)ncclCommWindowDeregister(comm_, window);
  if (comm_ != nullptr) (void)ncclCommDestroy(comm_);
  if (send_ != nullptr) (void)ncclMemFree(send_);
  if (recv_ != nullptr) (void)ncclMemFree(recv_);
}

Status Seat::sit(int device, int gpus) {
  STRAIT_ASSIGN(device_, open_device(device, gpus));
  return {};
}

Status Seat::join(const ncclUniqueId& id, int rank_count, int cta_policy) {
  STRAIT_TRY(device_->enter());
  if (cta_policy < 0)
    return told("ncclCommInitRank", ncclCommInitRank(&comm_, rank_count, id, rank_));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.CTAPolicy = cta_policy;
  return told("ncclCommInitRankConfig",
              ncclCommInitRankConfig(&comm_, rank_count, id, rank_, &config));
}

Status Seat::make_buffers(size_t bytes) {
  bytes_ = bytes;
  STRAIT_TRY(device_->enter());
  STRAIT_TRY(told("ncclMemAlloc", ncclMemAlloc(&send_, bytes)));
  return told("ncclMemAlloc", ncclMemAlloc(&recv_, bytes));
}

Status Seat::register_buffers() {
  STRAIT_TRY(told("ncclCommRegister", ncclCommRegister(comm_, send_, bytes_, &handles_[0])));
  return told("ncclCommRegister", ncclCommRegister(comm_, recv_, bytes_, &handles_[1]));
}

Status Seat::open_windows() {
  void* const buffers[2] = {send_, recv_};
  for (int i = 0; i < 2; ++i)
    STRAIT_TRY(told(
        "ncclCommWindowRegister",
        ncclCommWindowRegister(comm_, buffers[i], bytes_, &windows_[i], NCCL_WIN_COLL_SYMMETRIC)));
  return {};
}

}  // namespace strait::perf
