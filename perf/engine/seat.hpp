// Seat: one rank of this process, with its device, communicator and buffers. Owned by the crew;
// after it is made, used by one thread. Buffers come from ncclMemAlloc and stay for the whole
// sweep.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <memory>

#include "perf/engine/rank_device.hpp"

namespace strait::perf {

class Seat {
 public:
  explicit Seat(int rank) : rank_(rank) {}
  ~Seat();
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  int rank() const { return rank_; }  // in the communicator
  ncclComm_t comm() const { return comm_; }
  RankDevice& device() const { return *device_; }
  std::byte* send() const { return static_cast<std::byte*>(send_); }
  std::byte* recv() const { return static_cast<std::byte*>(recv_); }

  // On the device of that number (open_device); before everything else.
  Status sit(int device, int gpus);
  // cta_policy: ncclConfig_t's CTAPolicy, or negative.
  Status join(const ncclUniqueId& id, int rank_count, int cta_policy);
  Status make_buffers(size_t bytes);
  // The buffers, with ncclCommRegister or as symmetric windows; undone by the destructor.
  Status register_buffers();
  Status open_windows();
  // Waits for the stream and tells what failed on the communicator, if anything.
  Status synchronize() { return device_->synchronize(comm_); }

 private:
  int rank_;
  std::unique_ptr<RankDevice> device_;
  ncclComm_t comm_ = nullptr;
  size_t bytes_ = 0;
  void* send_ = nullptr;
  void* recv_ = nullptr;
  void* handles_[2] = {};
  ncclWindow_t windows_[2] = {};
};

}  // namespace strait::perf
