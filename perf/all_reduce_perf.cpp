// Measures ncclAllReduce as nccl-tests' all_reduce_perf does, between racks too.
#include "perf/engine/collective.hpp"

namespace strait::perf {
namespace {

constexpr Collective kAllReduce = {
    .program = "all_reduce_perf",
    .reduces = true,
    .rooted = false,
    .same_everywhere = true,
    .layout =
        [](uint64_t elements, int, int) {
          return Layout{elements, elements, elements};
        },
    .run =
        [](const Call& call) {
          return ncclAllReduce(call.send, call.recv, call.count, call.type, call.op, call.comm,
                               call.stream);
        },
    .expected = [](const Reference& reference, const Problem& problem, const Layout&,
                   const Part& part,
                   std::byte* out) { reference.reduce(problem, part.first, part.count, out); },
    .bus_factor = [](int ranks) { return 2.0 * (ranks - 1) / ranks; },
};

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  return strait::perf::run_program(strait::perf::kAllReduce, argc, argv);
}
