// Measures ncclReduce as nccl-tests' reduce_perf does.
#include "perf/engine/shapes.hpp"

namespace strait::perf {
namespace {

constexpr Collective kReduce = {
    .program = "reduce_perf",
    .reduces = true,
    .rooted = true,
    .same_everywhere = false,
    .layout =
        [](const Shape& shape) {
          Layout layout = whole_layout(shape);
          if (!at_root(shape)) layout.recv_count = 0;
          return layout;
        },
    .result =
        [](const Shape& shape) { return at_root(shape) ? whole_sum(shape) : std::vector<Piece>{}; },
    .run =
        [](const Call& call) {
          return ncclReduce(call.send, call.recv, call.count, call.type, call.op, call.shape.root,
                            call.comm, call.stream);
        },
    .bus_factor = whole_factor,
};

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  return strait::perf::run_program(strait::perf::kReduce, argc, argv);
}
