// Bench: one test on the ranks of one thread: fills their buffers, runs the collective, compares
// what came out. Lives for one test; used by its thread alone.
#pragma once

#include <span>
#include <vector>

#include "perf/data/check.hpp"
#include "perf/engine/context.hpp"
#include "perf/engine/seat.hpp"
#include "perf/engine/sweep.hpp"
#include "perf/engine/timing.hpp"

namespace strait::perf {

enum class Placement { kOutOfPlace, kInPlace };

// Bytes this thread's ranks sent between racks.
struct Traffic {
  uint64_t value_bytes = 0;  // before coding
  uint64_t wire_bytes = 0;
};

class Bench {
 public:
  Bench(const Context& context, int thread, std::span<Seat* const> seats, const Test& test);

  Status make_operations();
  void destroy_operations();

  // Puts every rank's input where the placement wants it.
  Status fill(Placement placement) const;
  // aggregate: operations in one group.
  Result<Times> run(Placement placement, const Repetitions& repetitions, int aggregate) const;
  // What the ranks must receive: each thread makes its slice or its ranks' own.
  void make_expected(std::vector<std::byte>* shared);
  // Wrong elements of this thread's ranks; the first of each rank is told on standard error.
  Result<uint64_t> check(Placement placement, const std::vector<std::byte>& shared) const;
  // XXH3 of what each of this thread's ranks received.
  Result<std::vector<uint64_t>> hashes(Placement placement) const;
  Result<Traffic> traffic() const;
  // For each of this thread's ranks world_size pairs: value and wire bytes to each rank, by its
  // number in the communicator.
  Result<std::vector<uint64_t>> traffic_by_peer() const;
  const Layout& layout() const { return places_.front().layout; }
  const Shape& shape() const { return places_.front().shape; }

 private:
  struct Place {
    Shape shape;
    Layout layout;
    std::vector<Piece> result;
    ncclRedOp_t op = ncclSum;
    std::vector<std::byte> expected;  // where ranks receive different results
  };

  std::byte* send_of(size_t seat, Placement placement) const;
  std::byte* recv_of(size_t seat, Placement placement) const;
  Status launch(Placement placement, int aggregate) const;
  Status launch_step(Placement placement, int step, int times) const;
  Result<Times> run_graph(Placement placement, const Repetitions& repetitions, int aggregate) const;
  Status capture(Placement placement, int iterations, int aggregate) const;
  uint64_t check_seat(size_t seat, Placement placement, const std::byte* found,
                      const std::byte* expected) const;
  bool is_direct_sum(size_t seat, const std::byte* found) const;
  size_t received_bytes(size_t seat) const {
    return places_[seat].layout.recv_count * size_of(test_.type);
  }
  Status wait() const;

  const Context& context_;
  int thread_;
  std::span<Seat* const> seats_;
  Test test_;
  Problem problem_;
  std::vector<Place> places_;
};

}  // namespace strait::perf
