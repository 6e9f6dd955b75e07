// The low 16 bits of floats that are sums of a few narrower values: mostly trailing zeros. A
// value's count of them (16: all bits zero) is entropy-coded, then come the bits above the lowest
// one. Pure functions; any thread; a few instructions per value.
#pragma once

#include <span>

#include "codec/kernels.hpp"

namespace strait::codec {

// The cheapest table for a full block, given its two low byte planes, and the bits it takes.
uint32_t choose_low_table(const uint8_t* plane0, const uint8_t* plane1, uint32_t& bits);

// The low halves of a tile's blocks that are coded this way.
struct LowHalves {
  size_t blocks = 0;
  uint8_t table[kTileBlocks];
  uint16_t value[kTileValues];

  void add(uint32_t block_table, const uint8_t* plane0, const uint8_t* plane1);
};

// Writes lengths and streams; as write_streams.
size_t write_low_streams(const LowHalves& halves, uint8_t* out, size_t room);

// Reads a block's low halves into its two low byte planes. Reads nothing outside streams.
void read_low_half(const Kernels& kernels, uint32_t table, std::span<const uint8_t> streams,
                   LanePositions& position, uint8_t* plane0, uint8_t* plane1);

}  // namespace strait::codec
