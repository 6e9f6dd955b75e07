// One rank of the device check: a communicator, on hosts' memory or on a GPU, and the cases on it
// one after another. Blocks until all are done; one thread per rank. Settings come from the
// environment, as for any program, so phases with different ones follow each other.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "perf/device/collective_cases.hpp"
#include "perf/device/gpu.hpp"

namespace strait::device_check {

struct Place {
  int rank = 0;
  int rank_count = 1;
  ncclUniqueId id;
};

// A communicator that is destroyed when all went well, and aborted otherwise.
class Membership {
 public:
  static Result<std::unique_ptr<Membership>> join(const NcclLibrary& nccl, const Place& place);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  ncclComm_t get() const { return comm_; }
  // What failed first behind the caller's back; ok when nothing did.
  Status failure() const;
  Status leave();

 private:
  Membership(const NcclLibrary& nccl, ncclComm_t comm) : nccl_(nccl), comm_(comm) {}

  const NcclLibrary& nccl_;
  ncclComm_t comm_;
};

// The outputs of all cases. With a GPU buffers are its memory, else the host's; in place where
// the case says so and the collective allows it.
Result<std::vector<std::vector<std::byte>>> run_cases(const NcclLibrary& nccl, const Place& place,
                                                      const std::vector<CollectiveCase>& cases,
                                                      const Gpu* gpu);

// The first difference between what GPUs and hosts have; ok when there is none.
Status compare(const std::vector<CollectiveCase>& cases,
               const std::vector<std::vector<std::byte>>& on_gpus,
               const std::vector<std::vector<std::byte>>& on_hosts);

}  // namespace strait::device_check
