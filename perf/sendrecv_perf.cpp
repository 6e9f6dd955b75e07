// Measures ncclSend and ncclRecv as nccl-tests' sendrecv_perf does: every rank sends to the next
// one and receives from the one before, in a ring.
#include "perf/engine/exchange.hpp"
#include "perf/engine/shapes.hpp"

namespace strait::perf {
namespace {

int before(const Shape& shape) {
  return (shape.rank + shape.rank_count - 1) % shape.rank_count;
}

constexpr Collective kSendRecv = {
    .program = "sendrecv_perf",
    .same_everywhere = false,
    .in_place = false,
    .layout = whole_layout,
    .result =
        [](const Shape& shape) {
          return std::vector<Piece>{{before(shape), 0, 0, shape.elements}};
        },
    .run =
        [](const Call& call) {
          const int next = (call.shape.rank + 1) % call.shape.rank_count;
          ExchangeGroup group;
          group.send(call.send, call.count, next, call);
          group.receive(call.recv, call.count, before(call.shape), call);
          return group.end();
        },
    .bus_factor = whole_factor,
};

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  return strait::perf::run_program(strait::perf::kSendRecv, argc, argv);
}
