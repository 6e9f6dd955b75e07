#include "perf/device/collective_speed.hpp"

#include "perf/device/rank_crew.hpp"
#include "perf/device/record.hpp"

namespace strait::device_check {
namespace {

// Calls of one timing: many where one is over before the next is queued.
int calls_of(size_t bytes) {
  return bytes <= (64 << 10) ? 20 : bytes <= (4 << 20) ? 5 : 1;
}

void report(const CollectiveSpeedTerms& terms, size_t bytes, double ns) {
  const double rate = static_cast<double>(bytes) / ns, ranks = terms.rank_count;
  Record record("all-reduce speed");
  record.with("library", terms.name).with("ranks", terms.rank_count);
  record.with("bytes", std::to_string(bytes)).with("us", ns / 1000).with("algbw_gbs", rate);
  record.with("busbw_gbs", rate * 2 * (ranks - 1) / ranks).write(Verdict::kMeasured);
}

Status measure_rank(const CollectiveSpeedTerms& terms, const NcclLibrary& nccl,
                    const Place& place) {
  STRAIT_ASSIGN(const auto gpu, Gpu::open(0));
  STRAIT_ASSIGN(const auto membership, Membership::join(nccl, place));
  STRAIT_ASSIGN(const cuda::DeviceMemory input, gpu->memory(terms.bytes_max));
  STRAIT_ASSIGN(const cuda::DeviceMemory output, gpu->memory(terms.bytes_max));
  STRAIT_TRY(gpu->fill(input.pointer(), 0, terms.bytes_max));
  for (size_t bytes = terms.bytes_min; bytes <= terms.bytes_max; bytes *= 4) {
    const int calls = calls_of(bytes);
    STRAIT_ASSIGN(const double ns, gpu->median_ns(terms.runs, [&]() -> Status {
      for (int i = 0; i < calls; ++i)
        STRAIT_TRY(nccl.status(
            nccl.all_reduce(input.data(), output.data(), bytes / 2, ncclBfloat16, ncclSum,
                            membership->get(), reinterpret_cast<cudaStream_t>(gpu->stream())),
            "ncclAllReduce", membership->get()));
      return Status();
    }));
    STRAIT_TRY(membership->failure());
    if (place.rank == 0) report(terms, bytes, ns / calls);
  }
  return membership->leave();
}

}  // namespace

Status measure_all_reduce(const CollectiveSpeedTerms& terms) {
  STRAIT_ASSIGN(const NcclLibrary nccl, NcclLibrary::open(terms.library));
  ncclUniqueId id;
  STRAIT_TRY(nccl.status(nccl.get_unique_id(&id), "ncclGetUniqueId", nullptr));
  return on_threads(terms.rank_count, [&](int rank) {
    return measure_rank(terms, nccl, {rank, terms.rank_count, id});
  });
}

}  // namespace strait::device_check
