// The kernels of the dense mode one value at a time. Included by each target that has no vectors
// for them, in its own namespace (simd.hpp says why). Any thread; a few instructions per value.
#pragma once

#include "codec/kernels.hpp"

namespace strait::codec::STRAIT_CODEC_TARGET {
namespace {

uint32_t cheapest_table(const uint16_t counts[kPriced], uint32_t& bits) {
  uint16_t costs[kExponentTables] = {};  // at most 512 * 17
  for (int k = 0; k < kPriced; ++k)
    for (int t = 0; t < kExponentTables; ++t)
      costs[t] = static_cast<uint16_t>(costs[t] + counts[k] * kPrices[k][t]);
  uint32_t least = 0;
  for (uint32_t t = 1; t < kExponentTables; ++t)
    if (costs[t] < costs[least]) least = t;
  bits = costs[least];
  return least;
}

size_t to_pieces(const PrefixCode& code, const uint8_t* symbols, uint64_t* bits, uint8_t* count) {
  for (size_t piece = 0; piece < kBlockValues / 8; ++piece) {
    // Four symbols of a row, four of the next.
    const uint8_t* from = symbols + piece / kLanes * 2 * kRowValues + piece % kLanes * 4;
    uint64_t joined = 0;
    uint32_t length = 0;
    for (size_t k = 0; k < 8; ++k) {
      const uint8_t symbol = from[k < 4 ? k : kRowValues + k - 4];
      joined |= uint64_t{code.bits[symbol]} << length;
      length += code.length[symbol];
    }
    bits[piece] = joined;
    count[piece] = static_cast<uint8_t>(length);
  }
  return kBlockValues / 8;
}

void read_symbols(const SymbolRead* reads, size_t count) {
  for (const SymbolRead* read = reads; read < reads + count; ++read) {
    const uint16_t* const decoded = read->code->decoded;
    const uint8_t* const streams = read->streams;
    uint32_t* const positions = read->position->bit;
    uint8_t* symbols = read->symbols;
    for (size_t piece = 0; piece < kBlockValues / 4; ++piece, symbols += 4) {
      uint32_t at = positions[piece % kLanes], four = 0;
      uint64_t next;
      __builtin_memcpy(&next, streams + at / 8, 8);
      next >>= at % 8;
      for (uint32_t k = 0; k < 4; ++k) {
        const uint32_t entry = decoded[next & 255], length = entry >> 8;
        four |= (entry & 255) << (8 * k);
        next >>= length;
        at += length;
      }
      positions[piece % kLanes] = at;
      __builtin_memcpy(symbols, &four, 4);
    }
  }
}

}  // namespace
}  // namespace strait::codec::STRAIT_CODEC_TARGET
