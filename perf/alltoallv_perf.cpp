// Measures an uneven all-to-all made of ncclSend and ncclRecv as nccl-tests' alltoallv_perf does.
// The size is the most that any rank sends or receives; who sends how much is traffic's to say.
#include <cstdlib>

#include "perf/alltoallv/traffic.hpp"
#include "perf/engine/exchange.hpp"
#include "perf/engine/shapes.hpp"

namespace strait::perf {
namespace {

Traffic traffic;  // set once, before any thread is made

uint64_t total_bytes(const Shape& shape) {
  return blocks_elements(shape) * shape.element_bytes;
}

uint64_t elements(const Shape& shape, int from, int to) {
  return traffic.bytes(from, to, shape.rank_count, total_bytes(shape)) / shape.element_bytes;
}

Layout layout(const Shape& shape) {
  const int ranks = shape.rank_count;
  const uint64_t total = total_bytes(shape), size = shape.element_bytes;
  return {traffic.is_matrix() ? 0 : block_elements(shape), traffic.most(ranks, total) / size,
          traffic.sent(shape.rank, ranks, total) / size,
          traffic.received(shape.rank, ranks, total) / size};
}

std::vector<Piece> result(const Shape& shape) {
  std::vector<Piece> pieces;
  uint64_t received = 0;
  for (int from = 0; from < shape.rank_count; ++from) {
    Piece piece{from, 0, received, elements(shape, from, shape.rank)};
    for (int to = 0; to < shape.rank; ++to) piece.source_first += elements(shape, from, to);
    received += piece.count;
    if (piece.count > 0) pieces.push_back(piece);
  }
  return pieces;
}

ncclResult_t run(const Call& call) {
  const Shape& shape = call.shape;
  const std::byte* from = call.send;
  std::byte* to = call.recv;
  ExchangeGroup group;
  for (int peer = 0; peer < shape.rank_count; ++peer) {
    const size_t sent = elements(shape, shape.rank, peer);
    const size_t received = elements(shape, peer, shape.rank);
    if (sent > 0) group.send(from, sent, peer, call);
    if (received > 0) group.receive(to, received, peer, call);
    from += sent * shape.element_bytes;
    to += received * shape.element_bytes;
  }
  return group.end();
}

Status prepare(const Options& options, int rank_count) {
  STRAIT_ASSIGN(traffic, Traffic::read([](const char* name) { return std::getenv(name); }));
  if (!traffic.is_matrix()) return {};
  if (rank_count > traffic.dimension())
    return error(Code::kInvalidArgument, "{} has rows for {} ranks but {} take part",
                 traffic.name(), traffic.dimension(), rank_count);
  if (options.min_bytes != options.max_bytes)
    return error(Code::kInvalidArgument,
                 "-b and -e differ, but the sizes come from {}; give both the same size",
                 traffic.name());
  const uint64_t most = traffic.most(rank_count, 0);
  if (most > static_cast<uint64_t>(options.max_bytes))
    return error(Code::kInvalidArgument,
                 "-b and -e are {} bytes, but some rank moves {} of {}; raise both to that",
                 options.max_bytes, most, traffic.name());
  return {};
}

double gbps(uint64_t bytes, double time_us) {
  return time_us > 0 ? static_cast<double>(bytes) / time_us / 1e3 : 0;
}

// One line of what was asked for, one for each rank.
std::vector<std::string> footnotes(const Shape& shape, double time_us) {
  if (!traffic.prints_summary()) return {};
  const int ranks = shape.rank_count;
  const uint64_t total = total_bytes(shape);
  std::vector<std::string> lines;
  const std::string heading = fmt::format("NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY: mode={} nranks={}",
                                          traffic.is_matrix() ? "matrix" : "generated", ranks);
  if (traffic.is_matrix())
    lines.push_back(fmt::format("{} matrix_dim={} scale={:.3f} time_usec={:.2f}", heading,
                                traffic.dimension(), traffic.scale(), time_us));
  else
    lines.push_back(fmt::format("{} total_bytes={} spread={:.3f} time_usec={:.2f}", heading, total,
                                traffic.spread(), time_us));
  for (int rank = 0; rank < ranks; ++rank) {
    const uint64_t sent = traffic.sent(rank, ranks, total);
    const uint64_t received = traffic.received(rank, ranks, total);
    const double bandwidth = gbps(std::max(sent, received), time_us);
    lines.push_back(fmt::format("  rank={} send_bytes={} recv_bytes={} alg_bw={:.2f} bus_bw={:.2f}",
                                rank, sent, received, bandwidth, bandwidth * others_factor(ranks)));
  }
  return lines;
}

constexpr Collective kAllToAllv = {
    .program = "alltoallv_perf",
    .same_everywhere = false,
    .in_place = false,
    .layout = layout,
    .result = result,
    .run = run,
    .bus_factor = others_factor,
    .prepare = prepare,
    .footnotes = footnotes,
};

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  return strait::perf::run_program(strait::perf::kAllToAllv, argc, argv);
}
