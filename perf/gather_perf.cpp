// Measures ncclGather as nccl-tests' gather_perf does. The size is that of what the root receives.
#include "perf/engine/shapes.hpp"

namespace strait::perf {
namespace {

constexpr Collective kGather = {
    .program = "gather_perf",
    .rooted = true,
    .same_everywhere = false,
    .layout =
        [](const Shape& shape) {
          Layout layout = gathering_layout(shape);
          if (!at_root(shape)) layout.recv_count = 0;
          return layout;
        },
    .result =
        [](const Shape& shape) {
          return at_root(shape) ? all_blocks(shape) : std::vector<Piece>{};
        },
    .run =
        [](const Call& call) {
          return ncclGather(call.send, call.recv, call.count, call.type, call.shape.root, call.comm,
                            call.stream);
        },
    .bus_factor = others_factor,
};

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  return strait::perf::run_program(strait::perf::kGather, argc, argv);
}
