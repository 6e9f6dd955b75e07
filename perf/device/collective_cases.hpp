// Which calls the device check makes: every type with every operation, every collective, several
// sizes, in and out of place, made of a seed. Values; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "perf/device/nccl_library.hpp"
#include "plan/request.hpp"

namespace strait::device_check {

struct CollectiveCase {
  Request request;
  bool in_place = false;
};

std::string describe(const CollectiveCase& what);

std::vector<CollectiveCase> collective_cases(int rank_count, bool tiny);

// What `rank` sends: bytes that no type takes for NaN.
std::vector<std::byte> input_of(const CollectiveCase& what, int rank, int rank_count);
size_t output_bytes(const CollectiveCase& what, int rank, int rank_count);

// The call, into the stream; `input` is where the rank's values lie. An all-to-all is a group of
// sends and receives.
Status call(const NcclLibrary& nccl, const CollectiveCase& what, int rank_count, const void* input,
            void* output, ncclComm_t comm, cudaStream_t stream);

}  // namespace strait::device_check
