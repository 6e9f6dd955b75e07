#include "codec/reference_decoder.hpp"

#include <algorithm>
#include <map>

#include "codec/reference_stream.hpp"

namespace strait::codec::reference {
namespace {

// Bytes that are read from the front; reading past the end is malformed.
class Reader {
 public:
  explicit Reader(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}

  uint64_t number(size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) value |= uint64_t{byte()} << (8 * i);
    return value;
  }
  uint8_t byte() {
    if (at_ == bytes_.size()) throw Malformed{};
    return bytes_[at_++];
  }
  Reader take(size_t size) {
    std::vector<uint8_t> part;
    for (size_t i = 0; i < size; ++i) part.push_back(byte());
    return Reader(part);
  }
  std::vector<bool> bit_plane(size_t n) {
    Reader bytes = take((n + 7) / 8);
    std::vector<bool> bits(n);
    for (size_t i = 0; i < n; ++i) bits[i] = (bytes.bytes_[i / 8] >> (i % 8)) & 1;
    return bits;
  }
  void align() {
    while (at_ % 16 != 0) byte();
  }
  size_t left() const { return bytes_.size() - at_; }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
  size_t at_ = 0;
};

struct Cut {
  size_t exponent_bits;
  size_t mantissa_bits;
  size_t value_bytes;
};

const std::map<int, Cut> kCuts = {{9, {8, 7, 2}},   {6, {5, 10, 2}}, {7, {8, 23, 4}},
                                  {8, {11, 52, 8}}, {10, {4, 3, 1}}, {11, {5, 2, 1}}};
const std::map<int, size_t> kSizes = {{0, 1}, {1, 1}, {2, 4}, {3, 4}, {4, 8},  {5, 8},
                                      {6, 2}, {7, 4}, {8, 8}, {9, 2}, {10, 1}, {11, 1}};

struct Record {
  uint64_t top = 0;
  uint64_t kind = 0;
  uint64_t list = 0;
  uint64_t low = 0;
};

struct Block {
  Cut cut;
  Record record;
  size_t n;

  size_t byte_planes() const { return (cut.mantissa_bits + 1) / 8; }
  size_t bit_planes() const { return (cut.mantissa_bits + 1) % 8; }
  size_t method() const { return record.kind & 63; }
  bool coded() const { return method() >= 16; }
  bool low_coded() const { return cut.value_bytes == 4 && record.low >= 16; }
  bool has_plane(size_t plane) const { return !low_coded() || plane == 2; }
  size_t mode(size_t plane) const {
    if (plane == byte_planes() - 1) return record.kind >> 6;
    return (record.low >> (2 * plane)) & 3;
  }
  size_t list_unit() const {
    for (size_t p = 0; p < byte_planes(); ++p)
      if (has_plane(p) && mode(p) >= 2) return 8;
    return 1;
  }
};

// What the planes area holds of one block.
struct BlockPlanes {
  std::vector<std::vector<uint8_t>> full;            // mode 1
  std::vector<std::vector<std::vector<bool>>> bits;  // modes 2 and 3
  std::vector<std::vector<bool>> residual;
  std::vector<std::vector<bool>> exponent;
};

BlockPlanes read_planes(const Block& block, Reader& area) {
  BlockPlanes planes;
  if (block.method() < 2) return planes;
  for (size_t p = 0; p < block.byte_planes(); ++p) {
    planes.full.emplace_back();
    planes.bits.emplace_back();
    if (!block.has_plane(p)) continue;
    if (block.mode(p) == 1) planes.full[p] = area.take(block.n).bytes();
    if (block.mode(p) >= 2) planes.bits[p].push_back(area.bit_plane(block.n));
    if (block.mode(p) == 3) planes.bits[p].push_back(area.bit_plane(block.n));
  }
  for (size_t p = 0; p < block.bit_planes(); ++p)
    planes.residual.push_back(area.bit_plane(block.n));
  for (size_t p = 2; p < block.method() && !block.coded(); ++p)
    planes.exponent.push_back(area.bit_plane(block.n));
  return planes;
}

uint64_t number_at(const std::vector<std::vector<bool>>& planes, size_t i) {
  uint64_t value = 0;
  for (size_t p = 0; p < planes.size(); ++p) value |= uint64_t{planes[p][i]} << p;
  return value;
}

struct ExponentCode {
  int above;
  int near[14];
  int zero;
  int escape;
};
struct LowCode {
  int length[17];
};
#include "codec/tables/tables.inc"

std::vector<Stream> read_streams(Reader& tile) {
  const size_t shortest = tile.number(2);
  const size_t width = tile.byte();
  std::vector<size_t> lengths(32, shortest);
  for (size_t p = 0; p < width; ++p) {
    const std::vector<bool> plane = tile.bit_plane(32);
    for (size_t lane = 0; lane < 32; ++lane) lengths[lane] += size_t{plane[lane]} << p;
  }
  std::vector<Stream> streams;
  for (size_t length : lengths) streams.emplace_back(tile.take(length).bytes());
  return streams;
}

// What the streams hold of each block.
struct Coded {
  std::vector<int> symbols;
  std::vector<uint32_t> low;
};

void read_coded_exponents(const Block& block, std::vector<Stream>& lanes, Coded& coded) {
  const size_t table = block.method() - 16;
  if (table >= std::size(kExponentCodes) || block.n != 512) throw Malformed{};
  const ExponentCode& row = kExponentCodes[table];
  std::vector<int> lengths(row.near, row.near + 14);
  lengths.push_back(row.zero);
  lengths.push_back(row.escape);
  const auto code = canonical_code(lengths);
  for (size_t i = 0; i < block.n; ++i) coded.symbols.push_back(lanes[i / 4 % 32].symbol(code));
}

void read_coded_low(const Block& block, std::vector<Stream>& lanes, Coded& coded) {
  const size_t table = block.record.low - 16;
  if (table >= std::size(kLowCodes) || block.n != 512) throw Malformed{};
  const auto code = canonical_code({kLowCodes[table].length, kLowCodes[table].length + 17});
  for (size_t i = 0; i < block.n; ++i) {
    Stream& lane = lanes[i / 4 % 32];
    const int zeros = lane.symbol(code);
    uint32_t low = 0;
    if (zeros < 16) low = (2 * lane.number(15 - zeros) + 1) << zeros;
    coded.low.push_back(low);
  }
}

uint64_t read_escape(const Block& block, Reader& list) {
  return list.number(block.cut.exponent_bits > 8 ? 2 : 1);
}

std::vector<uint64_t> read_exponents(const Block& block, const BlockPlanes& planes,
                                     const Coded& coded, Reader& list) {
  const size_t w = block.method() - 2;
  const uint64_t modulus = uint64_t{1} << block.cut.exponent_bits;
  const uint64_t escape = block.coded() ? 15 : (uint64_t{1} << w) - 1;
  const bool plain = !block.coded() && w == block.cut.exponent_bits;
  const bool fixed = !block.coded() && w == 0;
  std::vector<uint64_t> exponents;
  for (size_t i = 0; i < block.n; ++i) {
    const uint64_t code =
        block.coded() ? static_cast<uint64_t>(coded.symbols[i]) : number_at(planes.exponent, i);
    if (plain)
      exponents.push_back(code);
    else if (block.coded() && code == 14)
      exponents.push_back(0);
    else if (fixed || code != escape)
      exponents.push_back((block.record.top + modulus - code) % modulus);
    else
      exponents.push_back(read_escape(block, list) % modulus);
  }
  return exponents;
}

std::vector<uint8_t> read_byte_plane(const Block& block, const BlockPlanes& planes, size_t p,
                                     const Coded& coded, Reader& list) {
  if (!block.has_plane(p)) {
    std::vector<uint8_t> bytes;
    for (uint32_t low : coded.low) bytes.push_back(static_cast<uint8_t>(low >> (8 * p)));
    return bytes;
  }
  if (block.mode(p) == 1) return planes.full[p];
  std::vector<uint8_t> bytes(block.n, 0);
  if (block.mode(p) == 2)
    for (size_t i = 0; i < block.n; ++i)
      if (planes.bits[p][0][i]) bytes[i] = list.byte();
  for (size_t half = 0; half < 2 && block.mode(p) == 3; ++half) {
    bool second = false;
    uint8_t pair = 0;
    for (size_t i = 0; i < block.n; ++i) {
      if (!planes.bits[p][half][i]) continue;
      if (!second) pair = list.byte();
      const int nibble = second ? pair >> 4 : pair & 15;
      bytes[i] = static_cast<uint8_t>(bytes[i] | nibble << (4 * half));
      second = !second;
    }
  }
  return bytes;
}

void append(std::vector<uint8_t>& values, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) values.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

void read_block(const Block& block, const BlockPlanes& planes, const Coded& coded, Reader list,
                std::vector<uint8_t>& values) {
  const Cut& cut = block.cut;
  if (block.method() == 0) {
    values.resize(values.size() + block.n * cut.value_bytes);
    return;
  }
  if (block.method() == 1) {
    const uint64_t value = list.number(cut.value_bytes);
    for (size_t i = 0; i < block.n; ++i) append(values, value, cut.value_bytes);
    return;
  }
  const std::vector<uint64_t> exponents = read_exponents(block, planes, coded, list);
  std::vector<std::vector<uint8_t>> bytes;
  for (size_t p = 0; p < block.byte_planes(); ++p)
    bytes.push_back(read_byte_plane(block, planes, p, coded, list));
  if (list.left() >= block.list_unit()) throw Malformed{};
  for (size_t i = 0; i < block.n; ++i) {
    uint64_t residual = number_at(planes.residual, i) << (8 * bytes.size());
    for (size_t p = 0; p < bytes.size(); ++p) residual |= uint64_t{bytes[p][i]} << (8 * p);
    const uint64_t sign = residual >> cut.mantissa_bits;
    const uint64_t mantissa = residual & ((uint64_t{1} << cut.mantissa_bits) - 1);
    append(values, sign << (8 * cut.value_bytes - 1) | exponents[i] << cut.mantissa_bits | mantissa,
           cut.value_bytes);
  }
}

void read_tile(const Cut& cut, Reader tile, size_t count, std::vector<uint8_t>& values) {
  std::vector<Block> blocks;
  for (size_t left = count; left > 0; left -= blocks.back().n)
    blocks.push_back({cut, {}, std::min<size_t>(512, left)});
  for (Block& block : blocks) block.record.top = tile.number(cut.exponent_bits > 8 ? 2 : 1);
  for (Block& block : blocks) block.record.kind = tile.byte();
  for (Block& block : blocks) block.record.list = tile.byte();
  const size_t low_bytes = cut.value_bytes == 4 ? 1 : cut.value_bytes == 8 ? 2 : 0;
  for (Block& block : blocks) block.record.low = tile.number(low_bytes);
  tile.align();
  std::vector<BlockPlanes> planes;
  for (const Block& block : blocks) planes.push_back(read_planes(block, tile));
  std::vector<Reader> lists;
  for (const Block& block : blocks)
    lists.push_back(tile.take(block.record.list * block.list_unit()));
  std::vector<Stream> exponents, low;
  if (std::any_of(blocks.begin(), blocks.end(), [](const Block& b) { return b.coded(); }))
    exponents = read_streams(tile);
  if (std::any_of(blocks.begin(), blocks.end(), [](const Block& b) { return b.low_coded(); }))
    low = read_streams(tile);
  for (size_t b = 0; b < blocks.size(); ++b) {
    Coded coded;
    if (blocks[b].coded()) read_coded_exponents(blocks[b], exponents, coded);
    if (blocks[b].low_coded()) read_coded_low(blocks[b], low, coded);
    read_block(blocks[b], planes[b], coded, lists[b], values);
  }
  for (const Stream& stream : exponents)
    if (!stream.finished()) throw Malformed{};
  for (const Stream& stream : low)
    if (!stream.finished()) throw Malformed{};
  tile.align();
  if (tile.left() != 0) throw Malformed{};
}

uint32_t scramble(uint32_t x) {
  x ^= x >> 16;
  x *= 0x85EBCA6B;
  x ^= x >> 13;
  x *= 0xC2B2AE35;
  x ^= x >> 16;
  return x;
}

uint32_t check_of(std::vector<uint8_t> bytes, bool with_payload) {
  while (bytes.size() % 4 != 0) bytes.push_back(0);
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size() / 4; ++i) {
    if (i == 3 || (i > 3 && !with_payload)) continue;
    uint32_t word = 0;
    for (size_t k = 0; k < 4; ++k) word |= uint32_t{bytes[4 * i + k]} << (8 * k);
    sum += scramble(word ^ static_cast<uint32_t>(i + 1) * 0x9E3779B1);
  }
  return sum;
}

std::vector<uint8_t> decode_or_throw(const std::vector<uint8_t>& bytes) {
  Reader chunk(bytes);
  if (chunk.byte() != 0xC5 || chunk.byte() != 1) throw Malformed{};
  const uint8_t mode = chunk.byte();
  const int type = chunk.byte();
  const size_t count = chunk.number(4);
  const size_t payload_bytes = chunk.number(4);
  if (chunk.number(4) != check_of(bytes, mode >= 128)) throw Malformed{};
  Reader payload = chunk.take(payload_bytes);
  if (chunk.left() != 0 || kSizes.count(type) == 0) throw Malformed{};
  std::vector<uint8_t> values;
  switch (mode & 127) {
    case 0:
      values = payload.take(count * kSizes.at(type)).bytes();
      break;
    case 1:
      values.resize(count * kSizes.at(type));
      break;
    case 2:
    case 3: {
      if (kCuts.count(type) == 0) throw Malformed{};
      std::vector<size_t> tile_bytes;
      for (size_t first = 0; first < count; first += 16384)
        tile_bytes.push_back(16 * payload.number(2));
      payload.align();
      for (size_t t = 0; t < tile_bytes.size(); ++t)
        read_tile(kCuts.at(type), payload.take(tile_bytes[t]),
                  std::min<size_t>(16384, count - t * 16384), values);
      break;
    }
    default:
      throw Malformed{};
  }
  if (payload.left() != 0) throw Malformed{};
  return values;
}

}  // namespace

std::optional<std::vector<uint8_t>> decode(std::span<const std::byte> chunk) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(chunk.data());
  try {
    return decode_or_throw(std::vector<uint8_t>(bytes, bytes + chunk.size()));
  } catch (const Malformed&) {
    return std::nullopt;
  }
}

}  // namespace strait::codec::reference
