// Measures ncclAllGather as nccl-tests' all_gather_perf does. The size is that of what is received.
#include "perf/engine/shapes.hpp"

namespace strait::perf {
namespace {

constexpr Collective kAllGather = {
    .program = "all_gather_perf",
    .layout = gathering_layout,
    .result = all_blocks,
    .run =
        [](const Call& call) {
          return ncclAllGather(call.send, call.recv, call.count, call.type, call.comm, call.stream);
        },
    .bus_factor = others_factor,
};

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  return strait::perf::run_program(strait::perf::kAllGather, argc, argv);
}
