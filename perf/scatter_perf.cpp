// Measures ncclScatter as nccl-tests' scatter_perf does. The size is that of what the root sends.
#include "perf/engine/shapes.hpp"

namespace strait::perf {
namespace {

constexpr Collective kScatter = {
    .program = "scatter_perf",
    .rooted = true,
    .same_everywhere = false,
    .layout =
        [](const Shape& shape) {
          const uint64_t block = block_elements(shape), all = blocks_elements(shape);
          return Layout{block, all, at_root(shape) ? all : 0,
                        block, 0,   block_first(shape, shape.rank)};
        },
    .result =
        [](const Shape& shape) {
          return std::vector<Piece>{
              {shape.root, block_first(shape, shape.rank), 0, block_elements(shape)}};
        },
    .run =
        [](const Call& call) {
          return ncclScatter(call.send, call.recv, call.count, call.type, call.shape.root,
                             call.comm, call.stream);
        },
    .bus_factor = others_factor,
};

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  return strait::perf::run_program(strait::perf::kScatter, argc, argv);
}
