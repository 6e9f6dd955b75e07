// Measures ncclBroadcast as nccl-tests' broadcast_perf does.
#include "perf/engine/shapes.hpp"

namespace strait::perf {
namespace {

constexpr Collective kBroadcast = {
    .program = "broadcast_perf",
    .rooted = true,
    .layout = whole_layout,
    .result =
        [](const Shape& shape) {
          return std::vector<Piece>{{shape.root, 0, 0, shape.elements}};
        },
    .run =
        [](const Call& call) {
          return ncclBroadcast(call.send, call.recv, call.count, call.type, call.shape.root,
                               call.comm, call.stream);
        },
    .bus_factor = whole_factor,
};

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  return strait::perf::run_program(strait::perf::kBroadcast, argc, argv);
}
