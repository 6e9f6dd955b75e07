// World: the ranks of one collective, run twice: step by step with the host's arithmetic, and by
// the kernels in the SIMT layer, one launch per rank, over rings in ordinary memory. Same plan, so
// every bit must be the same. A test owns it; run() starts threads and joins them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "exec/cuda/device_call.hpp"
#include "exec/reduce.hpp"
#include "plan/choice.hpp"
#include "plan/placement.hpp"
#include "plan/request.hpp"
#include "topology/topology.hpp"

namespace strait::test {

struct Scene {
  Request request;
  Topology topology;
  Choice choice;
  bool in_place = false;
  bool low_latency = true;  // links have the slots of that protocol
  int slots = 2;
  uint32_t threads = 64;
  uint64_t seed = 1;        // of the values and of the order of threads
  uint32_t misaligned = 0;  // bytes by which buffers miss a multiple of 16
};

std::string describe(const Scene& scene);

class World {
 public:
  explicit World(const Scene& scene);
  ~World();

  // The result of every rank by the host's arithmetic.
  std::vector<std::vector<std::byte>> expected() const;
  // The kernels' results; what a kernel or the SIMT layer found wrong is the status.
  Result<std::vector<std::vector<std::byte>>> run();

  // What tests change before run().
  DeviceReport& report(int rank) { return reports_[static_cast<size_t>(rank)]; }
  void change_tag(int rank) { tags_[static_cast<size_t>(rank)] ^= 1; }
  // Bytes that messages of the low-latency protocol took.
  uint64_t flagged_lines() const;

 private:
  struct Ring;
  struct Memory;
  using RingName = std::tuple<int, int, size_t>;  // source, destination, lane

  Ring& ring(const RingName& name);
  std::vector<std::byte> output_of(const Memory& memory, int rank) const;
  Memory make_memory(int rank) const;
  Status launch(int rank);

  const Scene scene_;
  Arithmetic arithmetic_;
  std::vector<Plan> plans_;
  std::map<RingName, std::unique_ptr<Ring>> rings_;
  std::vector<Memory> memories_;
  std::vector<DeviceReport> reports_;
  std::vector<uint32_t> tags_;
};

}  // namespace strait::test
