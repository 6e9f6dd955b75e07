// Measures ncclAlltoAll as nccl-tests' alltoall_perf does.
#include "perf/engine/shapes.hpp"

namespace strait::perf {
namespace {

constexpr Collective kAllToAll = {
    .program = "alltoall_perf",
    .same_everywhere = false,
    .in_place = false,
    .layout =
        [](const Shape& shape) {
          const uint64_t all = blocks_elements(shape);
          return Layout{block_elements(shape), all, all, all};
        },
    .result =
        [](const Shape& shape) {
          std::vector<Piece> pieces = all_blocks(shape);
          for (Piece& piece : pieces) piece.source_first = block_first(shape, shape.rank);
          return pieces;
        },
    .run =
        [](const Call& call) {
          return ncclAlltoAll(call.send, call.recv, call.count, call.type, call.comm, call.stream);
        },
    .bus_factor = others_factor,
};

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  return strait::perf::run_program(strait::perf::kAllToAll, argc, argv);
}
