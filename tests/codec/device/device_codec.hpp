// The device codec as a function of bytes: launches its kernels on the SIMT layer, on memory that
// ends where a page begins that nobody may touch. Any thread; a launch takes some milliseconds for
// each tile.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codec/codec.hpp"

namespace strait::codec {

// Memory whose last byte, or first, is next to a page that nobody may touch.
class GuardedBytes {
 public:
  // Starts at a multiple of 16 plus `offset`; the bytes up to the page behind are checked when it
  // goes.
  explicit GuardedBytes(size_t size, size_t offset = 0);
  GuardedBytes(const GuardedBytes&) = delete;
  ~GuardedBytes();
  std::byte* data() { return start_; }
  std::span<std::byte> span() { return {start_, size_}; }

 private:
  size_t size_;
  size_t mapped_;
  std::byte* base_;
  std::byte* start_;
};

struct Array {
  std::span<const uint8_t> values;
  size_t offset = 0;  // of its address from a multiple of 16
};

// Which kernels, without the type; empty for the stand-alone ones. And the order of threads
// (simt.hpp).
struct Kernel {
  std::string prefix = {};
  uint64_t seed = 0;
};

// One chunk for each array, all by one launch.
std::vector<std::vector<std::byte>> device_encode(DataType type, std::span<const Array> arrays,
                                                  const Options& options,
                                                  const Kernel& kernel = {});

struct Decoded {
  uint32_t fault;
  std::vector<uint8_t> values;
};

// `before` is what the values are before, for kernels that add.
std::vector<Decoded> device_decode(DataType type, std::span<const std::vector<std::byte>> chunks,
                                   size_t count, size_t offset = 0, const Kernel& kernel = {},
                                   std::span<const uint8_t> before = {});

struct Relayed {
  uint32_t fault;
  std::vector<std::byte> chunk;
};

// Decodes each chunk, adds `own`, and encodes the sums, in one pass (bfloat16 and float).
std::vector<Relayed> device_relay(DataType type, std::span<const std::vector<std::byte>> chunks,
                                  std::span<const uint8_t> own, const Options& options);

std::vector<std::byte> host_encode(DataType type, std::span<const uint8_t> values,
                                   const Options& options);

// Encodes on both, compares byte for byte, decodes on the device and compares bit for bit.
void expect_same(DataType type, std::span<const Array> arrays, const Options& options);

}  // namespace strait::codec
