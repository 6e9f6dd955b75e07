#include "perf/device/rank_run.hpp"

#include <algorithm>
#include <cstring>

namespace strait::device_check {
namespace {

// One buffer of a rank that holds input and output, together where the call is in place.
struct Layout {
  size_t input = 0;
  size_t output = 0;
  size_t bytes = 0;

  Layout(const CollectiveCase& what, const Place& place) {
    const size_t size = size_of(what.request.type);
    const size_t in = input_count(what.request, place.rank, place.rank_count) * size;
    const size_t out = output_bytes(what, place.rank, place.rank_count);
    const std::optional<int64_t> offset =
        what.in_place ? in_place_offset(what.request, place.rank, place.rank_count) : std::nullopt;
    if (offset) {
      const int64_t shift = *offset * static_cast<int64_t>(size);
      input = static_cast<size_t>(std::max<int64_t>(shift, 0));
      output = static_cast<size_t>(std::max<int64_t>(-shift, 0));
    } else {
      output = (in + 255) / 256 * 256;
    }
    // What a rank has none of is still an address of its memory.
    bytes = std::max(input + in, output + out) + 16;
  }
};

// A rank's memory on its GPU for all cases: releasing some in between would wait for the whole
// device, and so for kernels of other ranks that wait for this one.
struct Arena {
  const Gpu* gpu = nullptr;
  cuda::DeviceMemory memory;

  Status make(const Place& place, const std::vector<CollectiveCase>& cases) {
    if (gpu == nullptr) return Status();
    size_t bytes = 0;
    for (const CollectiveCase& what : cases) bytes = std::max(bytes, Layout(what, place).bytes);
    STRAIT_ASSIGN(memory, gpu->memory(bytes));
    return Status();
  }
};

Result<std::vector<std::byte>> run_case(const NcclLibrary& nccl, const Place& place,
                                        const CollectiveCase& what, const Arena& arena,
                                        ncclComm_t comm) {
  const Layout layout(what, place);
  const std::vector<std::byte> input = input_of(what, place.rank, place.rank_count);
  std::vector<std::byte> host(layout.bytes);
  if (!input.empty()) std::memcpy(host.data() + layout.input, input.data(), input.size());
  if (arena.gpu == nullptr) {
    STRAIT_TRY(call(nccl, what, place.rank_count, host.data() + layout.input,
                    host.data() + layout.output, comm, nullptr));
  } else {
    const Gpu* const gpu = arena.gpu;
    STRAIT_TRY(gpu->upload(arena.memory.pointer(), host));
    auto* const start = static_cast<std::byte*>(arena.memory.data());
    STRAIT_TRY(call(nccl, what, place.rank_count, start + layout.input, start + layout.output, comm,
                    reinterpret_cast<cudaStream_t>(gpu->stream())));
    STRAIT_TRY(gpu->wait());
    STRAIT_TRY(gpu->download(host, arena.memory.pointer()));
  }
  const auto* const output = host.data() + layout.output;
  return std::vector<std::byte>(output, output + output_bytes(what, place.rank, place.rank_count));
}

}  // namespace

Result<std::unique_ptr<Membership>> Membership::join(const NcclLibrary& nccl, const Place& place) {
  ncclComm_t comm = nullptr;
  STRAIT_TRY(nccl.status(nccl.init_rank(&comm, place.rank_count, place.id, place.rank),
                         "ncclCommInitRank", nullptr));
  return std::unique_ptr<Membership>(new Membership(nccl, comm));
}

Membership::~Membership() {
  if (comm_ != nullptr) nccl_.abort(comm_);
}

Status Membership::failure() const {
  ncclResult_t found = ncclSuccess;
  STRAIT_TRY(nccl_.status(nccl_.async_error(comm_, &found), "ncclCommGetAsyncError", comm_));
  return nccl_.status(found, "a collective", comm_);
}

Status Membership::leave() {
  ncclComm_t comm = std::exchange(comm_, nullptr);
  return nccl_.status(nccl_.destroy(comm), "ncclCommDestroy", nullptr);
}

Result<std::vector<std::vector<std::byte>>> run_cases(const NcclLibrary& nccl, const Place& place,
                                                      const std::vector<CollectiveCase>& cases,
                                                      const Gpu* gpu) {
  Arena arena{.gpu = gpu, .memory = {}};
  STRAIT_TRY(arena.make(place, cases));
  STRAIT_ASSIGN(const auto membership, Membership::join(nccl, place));
  std::vector<std::vector<std::byte>> outputs;
  for (const CollectiveCase& what : cases) {
    Result<std::vector<std::byte>> output = run_case(nccl, place, what, arena, membership->get());
    if (!output.ok()) return output.status().at(describe(what));
    STRAIT_TRY(membership->failure());
    outputs.push_back(std::move(*output));
  }
  STRAIT_TRY(membership->leave());
  return outputs;
}

Status compare(const std::vector<CollectiveCase>& cases,
               const std::vector<std::vector<std::byte>>& on_gpus,
               const std::vector<std::vector<std::byte>>& on_hosts) {
  for (size_t i = 0; i < cases.size(); ++i) {
    if (on_gpus[i] == on_hosts[i]) continue;
    const auto differs = std::ranges::mismatch(on_gpus[i], on_hosts[i]);
    return error(Code::kInternalError, "{}: byte {} differs from the hosts'", describe(cases[i]),
                 differs.in1 - on_gpus[i].begin());
  }
  return Status();
}

}  // namespace strait::device_check
