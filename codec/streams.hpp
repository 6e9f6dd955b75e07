// The 32 bit streams of a tile, one per lane: lane j has values 4j to 4j + 3 of every row of 128
// values, code after code, from the lowest bit of its first byte up. The streams stand one behind
// another, after their lengths. A GPU's warp reads them with one lane each, a processor's vectors
// with all lanes at once. Pure functions on memory of the caller; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/format.hpp"

namespace strait::codec {

inline constexpr size_t kLanes = 32;
inline constexpr size_t kRowValues = 128;
inline constexpr size_t kRows = kTileValues / kRowValues;
inline constexpr size_t kBlockRows = kBlockValues / kRowValues;

// In front of the streams: the shortest length, how many bits the lanes' differences from it take,
// and those as bit planes of one bit per lane.
inline constexpr size_t kMostLaneHeader = 2 + 1 + 8 * kLanes / 8;

// Where each lane is, in bits from the first stream's start.
struct LanePositions {
  uint32_t bit[kLanes] = {};
};

// What lanes append, eight values (of two rows) or sixteen (of four) at a time: piece k of lane j
// is bits[32 k + j], count[32 k + j] of them, at most 64.
struct LanePieces {
  size_t used = 0;  // pieces of all lanes
  uint64_t bits[kTileValues / 8];
  uint8_t count[kTileValues / 8];
};

// Writes the lengths; returns how many bytes they took, or 0 when they differ by more than 255.
size_t write_lengths(const uint32_t length[kLanes], uint8_t* out);

// Makes the streams of lanes `lane` and `lane + 1`; writes up to eight bytes beyond each.
using AppendLanes = void (*)(const LanePieces& pieces, size_t lane, uint8_t* even_out,
                             uint8_t* odd_out);

// Writes lengths and streams; returns their bytes, or 0 when `room` does not suffice (up to eight
// bytes of it may stay unused) or the lengths differ too much.
size_t write_streams(AppendLanes append_lanes, const LanePieces& pieces, uint8_t* out, size_t room);

// Where the streams are that are written at the start of `in`, and where each lane starts and ends
// in them. Takes them off `in`; empty when they do not fit.
std::span<const uint8_t> open_streams(std::span<const uint8_t>& in, LanePositions& start,
                                      LanePositions& end);

// Whether every lane has stopped in the last byte of its stream.
bool at_end(const LanePositions& position, const LanePositions& end);

}  // namespace strait::codec
