// What is known about a GPU: its name, place and abilities, read once and then a plain value. Any
// thread; reading costs a dozen calls of the driver and no context.
#pragma once

#include <array>
#include <string>

#include "base/cuda/driver.hpp"

namespace strait::cuda {

struct DeviceFacts {
  int ordinal = 0;
  std::string name;
  std::string pci_bus_id;  // "0000:3b:00.0"
  std::array<unsigned char, 16> uuid{};
  size_t memory_bytes = 0;
  int compute_major = 0;
  int compute_minor = 0;
  int multiprocessors = 0;
  int threads_per_block_max = 0;
  int shared_bytes_max = 0;          // of one block, where the kernel opts in
  bool cooperative = false;          // cooperative launches
  bool virtual_memory = false;       // cuMemCreate and mapping
  bool file_descriptors = false;     // ... shared by file descriptor
  bool fabric_handles = false;       // ... shared by fabric handle; tells nothing about IMEX
  bool rdma = false;                 // GPUDirect RDMA by nvidia-peermem
  bool rdma_virtual_memory = false;  // ... of memory made by cuMemCreate
  bool dma_buf = false;
  bool rdma_writes_ordered = false;  // the GPU sees what a NIC wrote when it sees what came after
};

Result<DeviceFacts> device_facts(const Driver& driver, int ordinal);

struct PeerFacts {
  bool access = false;          // kernels of one may use memory of the other
  bool native_atomics = false;  // NVLink, in practice
  int performance_rank = 0;     // 0 is the fastest there is
};

Result<PeerFacts> peer_facts(const Driver& driver, int device, int peer);

}  // namespace strait::cuda
