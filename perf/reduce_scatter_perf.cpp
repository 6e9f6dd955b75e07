// Measures ncclReduceScatter as nccl-tests' reduce_scatter_perf does. The size is that of what is
// sent.
#include "perf/engine/shapes.hpp"

namespace strait::perf {
namespace {

constexpr Collective kReduceScatter = {
    .program = "reduce_scatter_perf",
    .reduces = true,
    .same_everywhere = false,
    .layout =
        [](const Shape& shape) {
          const uint64_t block = block_elements(shape), all = blocks_elements(shape);
          return Layout{block, all, all, block, 0, block_first(shape, shape.rank)};
        },
    .result =
        [](const Shape& shape) {
          return std::vector<Piece>{
              {Piece::kEveryRank, block_first(shape, shape.rank), 0, block_elements(shape)}};
        },
    .run =
        [](const Call& call) {
          return ncclReduceScatter(call.send, call.recv, call.count, call.type, call.op, call.comm,
                                   call.stream);
        },
    .bus_factor = others_factor,
};

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  return strait::perf::run_program(strait::perf::kReduceScatter, argc, argv);
}
