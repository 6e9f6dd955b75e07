// What the stand-in machine is made of, read from the environment once, when it is first
// called:
//   STRAIT_STANDIN_DEVICES=2          GPUs
//   STRAIT_STANDIN_MEMORY=1G          bytes of each
//   STRAIT_STANDIN_SMS=132            multiprocessors of each
//   STRAIT_STANDIN_VERSION=13000      of the driver
//   STRAIT_STANDIN_PEER=1             0: GPUs cannot reach each other's memory
//   STRAIT_STANDIN_VMM=1              0: no cuMemCreate, legacy IPC only
//   STRAIT_STANDIN_FD=1               0: no memory is shared by file descriptor
//   STRAIT_STANDIN_FABRIC=ab12/7/3    NVLink domain: cluster, clique, state (3 when left out)
//   STRAIT_STANDIN_IMEX=1             0: no IMEX channel, so fabric handles are refused
//   STRAIT_STANDIN_RDMA=0             1: NICs may reach device memory, which is ordinary memory
//   STRAIT_STANDIN_KERNEL_MS=60000    a kernel that runs longer has hung and fails
//   STRAIT_STANDIN_GUARD=0            1: the host cannot use device memory, see guard.hpp
//   STRAIT_STANDIN_FAIL=cuMemCreate:3=2,kernel:1=700    see faults.hpp
// A value; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace strait::standin {

struct Fabric {
  bool there = false;
  std::array<unsigned char, 16> cluster{};
  unsigned clique = 0;
  unsigned char state = 0;
};

struct Settings {
  int devices = 2;
  uint64_t memory_bytes = uint64_t{1} << 30;
  int multiprocessors = 132;
  int version = 13000;
  bool peer = true;
  bool vmm = true;
  bool descriptors = true;
  bool imex = true;
  bool rdma = false;
  bool guard = false;
  int64_t kernel_ms = 60'000;
  Fabric fabric;
  std::string faults;

  static Settings from_environment();
};

Fabric parse_fabric(const std::string& text);

}  // namespace strait::standin
