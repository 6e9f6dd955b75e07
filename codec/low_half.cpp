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

// Appends one lane; returns its bytes. Writes at most eight bytes more.
size_t append_lane(const LowHalves& halves, size_t lane, uint8_t* out) {
  const uint8_t* const start = out;
  uint64_t waiting = 0;
  uint32_t count = 0;
  for (size_t block = 0; block < halves.blocks; ++block) {
    const PrefixCode& code = kLowCodesByTable[halves.table[block]];
    const uint16_t* values = halves.value + block * kBlockValues + 4 * lane;
    for (size_t row = 0; row < kBlockRows; ++row, values += kRowValues)
      for (size_t k = 0; k < 4; ++k) {
        const uint32_t zeros = static_cast<uint32_t>(std::countr_zero(values[k] | kMarker));
        const uint64_t above = uint64_t{values[k]} >> (zeros + 1);
        waiting |= (code.bits[zeros] | above << code.length[zeros]) << count;
        count += code.length[zeros] + (zeros < 15 ? 15 - zeros : 0);
        store<uint64_t>(out, waiting);
        out += count / 8;
        waiting >>= count & ~7u;
        count &= 7;
      }
  }
  return static_cast<size_t>(out - start) + (count != 0);
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
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if (used + kMostLaneBytes + 8 > room) return 0;
    length[lane] = static_cast<uint32_t>(append_lane(halves, lane, out + used));
    used += length[lane];
  }
  const size_t header = write_lengths(length, out);
  if (header == 0) return 0;
  std::memmove(out + header, out + kMostLaneHeader, used - kMostLaneHeader);
  return header + used - kMostLaneHeader;
}

void read_low_half(uint32_t table, std::span<const uint8_t> streams, LanePositions& position,
                   uint8_t* plane0, uint8_t* plane1) {
  const PrefixCode& code = kLowCodesByTable[table];
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
