// Measures ncclAllReduce as nccl-tests' all_reduce_perf does, between racks too.
#include "perf/engine/shapes.hpp"

namespace strait::perf {
namespace {

constexpr Collective kAllReduce = {
    .program = "all_reduce_perf",
    .reduces = true,
    .adds_in_order = true,
    .layout = whole_layout,
    .result = whole_sum,
    .run =
        [](const Call& call) {
          return ncclAllReduce(call.send, call.recv, call.count, call.type, call.op, call.comm,
                               call.stream);
        },
    .bus_factor = [](int ranks) { return 2 * others_factor(ranks); },
};

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  return strait::perf::run_program(strait::perf::kAllReduce, argc, argv);
}
