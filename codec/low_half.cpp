#include "codec/low_half.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "codec/bytes.hpp"

namespace strait::codec {
namespace {

constexpr uint32_t kMarker = 0x10000;  // bounds the count of trailing zeros
constexpr size_t kMostLaneBytes = kTileValues / kLanes * 3;

uint32_t low_half(const uint8_t* plane0, const uint8_t* plane1, size_t i) {
  return plane0[i] | uint32_t{plane1[i]} << 8;
}

// The end of a lane's stream that grows.
struct LowEnd {
  uint8_t* at;
  uint64_t waiting = 0;  // fewer than eight bits between values
  uint32_t count = 0;

  void append(const PrefixCode& code, uint16_t value) {
    const auto zeros = static_cast<uint32_t>(std::countr_zero(value | kMarker));
    const uint64_t above = uint64_t{value} >> (zeros + 1);
    waiting |= (code.bits[zeros] | above << code.length[zeros]) << count;
    count += code.length[zeros] + (zeros < 15 ? 15 - zeros : 0);
    store<uint64_t>(at, waiting);
    at += count / 8;
    waiting >>= count & ~7u;
    count &= 7;
  }
  uint32_t bytes(const uint8_t* start) const {
    return static_cast<uint32_t>(at - start) + (count != 0);
  }
};

// Appends two neighbouring lanes at once, as each waits for its own last value. Writes at most
// eight bytes more than they take.
void append_two(const LowHalves& halves, size_t lane, LowEnd& even, LowEnd& odd) {
  for (size_t block = 0; block < halves.blocks; ++block) {
    const PrefixCode& code = kLowCodesByTable[halves.table[block]];
    const uint16_t* values = halves.value + block * kBlockValues + 4 * lane;
    for (size_t row = 0; row < kBlockRows; ++row, values += kRowValues)
      for (size_t k = 0; k < 4; ++k) {
        even.append(code, values[k]);
        odd.append(code, values[4 + k]);
      }
  }
}

uint64_t load_within(std::span<const uint8_t> bytes, size_t at) {
  if (at + 8 <= bytes.size()) return load<uint64_t>(bytes.data() + at);
  uint64_t word = 0;
  if (at < bytes.size()) std::memcpy(&word, bytes.data() + at, bytes.size() - at);
  return word;
}

}  // namespace

uint32_t choose_low_table(const uint8_t* plane0, const uint8_t* plane1, uint32_t& bits) {
  uint32_t counts[kPriced] = {};
  for (size_t i = 0; i < kBlockValues; ++i)
    ++counts[std::countr_zero(low_half(plane0, plane1, i) | kMarker)];
  uint32_t costs[kLowTables] = {};
  for (int zeros = 0; zeros < kPriced; ++zeros)
    for (int t = 0; t < kLowTables; ++t) costs[t] += counts[zeros] * kLowPrices[zeros][t];
  const uint32_t* least = std::min_element(costs, costs + kLowTables);
  bits = *least;
  return static_cast<uint32_t>(least - costs);
}

void LowHalves::add(uint32_t block_table, const uint8_t* plane0, const uint8_t* plane1) {
  table[blocks] = static_cast<uint8_t>(block_table);
  for (size_t i = 0; i < kBlockValues; ++i)
    value[blocks * kBlockValues + i] = static_cast<uint16_t>(low_half(plane0, plane1, i));
  ++blocks;
}

size_t write_low_streams(const LowHalves& halves, uint8_t* out, size_t room) {
  // The lengths are known last, and take less than this.
  size_t used = kMostLaneHeader;
  uint32_t length[kLanes];
  uint8_t aside[kMostLaneBytes + 8];
  for (size_t lane = 0; lane < kLanes; lane += 2) {
    if (used + kMostLaneBytes + 8 > room) return 0;
    LowEnd even{out + used}, odd{aside};
    append_two(halves, lane, even, odd);
    length[lane] = even.bytes(out + used);
    used += length[lane];
    if (used + kMostLaneBytes + 8 > room) return 0;
    length[lane + 1] = odd.bytes(aside);
    std::memcpy(out + used, aside, length[lane + 1]);
    used += length[lane + 1];
  }
  const size_t header = write_lengths(length, out);
  if (header == 0) return 0;
  std::memmove(out + header, out + kMostLaneHeader, used - kMostLaneHeader);
  return header + used - kMostLaneHeader;
}

void read_low_half(const Kernels& kernels, uint32_t table, std::span<const uint8_t> streams,
                   LanePositions& position, uint8_t* plane0, uint8_t* plane1) {
  const PrefixCode& code = kLowCodesByTable[table];
  // A block takes a lane at most 46 bytes on, and eight are loaded at once.
  constexpr size_t kMostBytes = kBlockValues / kLanes * 23 / 8 + 8;
  const uint32_t last = *std::max_element(position.bit, position.bit + kLanes) / 8;
  if (kernels.read_low != nullptr && last + kMostBytes <= streams.size()) {
    kernels.read_low(code, streams.data(), position, plane0, plane1);
    return;
  }
  for (size_t i = 0; i < kBlockValues; i += 2) {
    // A code and its bits are at most 23, so one load serves two values.
    uint32_t& at = position.bit[i / 4 % kLanes];
    uint64_t next = load_within(streams, at / 8) >> (at % 8);
    for (size_t k = i; k < i + 2; ++k) {
      const uint16_t entry = code.decoded[next & 255];
      const uint32_t zeros = entry & 255, length = entry >> 8;
      const uint32_t extra = zeros < 15 ? 15 - zeros : 0;
      const uint32_t above = static_cast<uint32_t>(next >> length) & ((1u << extra) - 1);
      const uint32_t value = (above << 1 | 1) << zeros;  // beyond 16 bits when all are zero
      plane0[k] = static_cast<uint8_t>(value);
      plane1[k] = static_cast<uint8_t>(value >> 8);
      next >>= length + extra;
      at += length + extra;
    }
  }
}

}  // namespace strait::codec
