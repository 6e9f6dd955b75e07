// Measures an all-gather made of ncclSend and ncclRecv as nccl-tests' hypercube_perf does. In step
// k every rank exchanges all that it has with the rank whose number differs in bit k:
//
//   4 ranks   step 0   0 <-> 1   2 <-> 3     one block each way
//             step 1   0 <-> 2   1 <-> 3     two
//
// log2(n) steps, n - 1 blocks sent by each rank; only for powers of two.
#include <bit>

#include "perf/engine/exchange.hpp"
#include "perf/engine/shapes.hpp"

namespace strait::perf {
namespace {

constexpr Collective kHypercube = {
    .program = "hypercube_perf",
    .layout = gathering_layout,
    .result = all_blocks,
    .run =
        [](const Call& call) {
          const int reach = 1 << call.step;
          const int mine = call.shape.rank & ~(reach - 1);  // the first block of what I have
          const int peer = call.shape.rank ^ reach, theirs = mine ^ reach;
          const size_t block_bytes = call.count * call.shape.element_bytes;
          const auto block = [&](int rank) {
            return call.recv + static_cast<size_t>(rank) * block_bytes;
          };
          const bool first = call.step == 0;
          ExchangeGroup group;
          if (first && call.send != block(call.shape.rank)) {
            group.send(call.send, call.count, call.shape.rank, call);
            group.receive(block(call.shape.rank), call.count, call.shape.rank, call);
          }
          if (peer < call.shape.rank_count) {
            const size_t count = call.count * static_cast<size_t>(reach);
            group.send(first ? call.send : block(mine), count, peer, call);
            group.receive(block(theirs), count, peer, call);
          }
          return group.end();
        },
    .bus_factor = whole_factor,
    .moved =
        [](const Shape& shape) {
          return block_elements(shape) * static_cast<uint64_t>(shape.rank_count - 1);
        },
    // One rank has a step too: it copies its block.
    .steps = [](int ranks) { return std::max(std::countr_zero(static_cast<unsigned>(ranks)), 1); },
    .runs_on = [](int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); },
};

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  return strait::perf::run_program(strait::perf::kHypercube, argc, argv);
}
