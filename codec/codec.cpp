#include "codec/codec.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "codec/bytes.hpp"
#include "codec/dispatch.hpp"
#include "codec/header.hpp"
#include "codec/tile.hpp"

namespace strait::codec {
namespace {

constexpr size_t kMostBytes = std::numeric_limits<uint32_t>::max();
constexpr size_t kLeastCoded = 64;    // bytes of values below which nothing is tried
constexpr size_t kSinkValues = 2048;  // values handed over at once: 2 to 16 KiB
static_assert(kTileValues % kSinkValues == 0 && kSinkValues % kBlockValues == 0);

bool all_zero(const std::byte* bytes, size_t count) {
  size_t at = 0;
  for (; at + 64 <= count; at += 64) {
    uint64_t any = 0;
    for (size_t k = 0; k < 64; k += 8) any |= load<uint64_t>(bytes + at + k);
    if (any != 0) return false;
  }
  for (; at < count; ++at)
    if (bytes[at] != std::byte{0}) return false;
  return true;
}

// The lengths of the tiles, in units of kAlign, stand in front of them.
size_t table_bytes(size_t count) {
  return round_up(2 * tiles_of(count), kAlign);
}

// Returns the payload's bytes, or 0 when they would not be fewer than the values'.
size_t encode_payload(const Shape& shape, Mode mode, const std::byte* values, size_t count,
                      std::byte* out) {
  const size_t raw_bytes = count * shape.value_bytes;
  size_t used = table_bytes(count);
  if (used >= raw_bytes) return 0;
  std::memset(out, 0, used);
  for (size_t tile = 0; tile < tiles_of(count); ++tile) {
    const size_t n = std::min(kTileValues, count - tile * kTileValues);
    const std::byte* in = values + tile * kTileValues * shape.value_bytes;
    const size_t bytes =
        encode_tile(shape, kernels(), mode, in, n, out + used, raw_bytes - 1 - used);
    if (bytes == 0) return 0;
    store<uint16_t>(out + 2 * tile, static_cast<uint16_t>(bytes / kAlign));
    used += bytes;
  }
  return used;
}

Status damaged(DataType type, const char* what) {
  if (what == kTableMissing)
    return error(Code::kInvalidUsage,
                 "a chunk of {} cannot be decoded: {}; install the same tables on all ranks before "
                 "they communicate",
                 name_of(type), what);
  return error(Code::kInternalError,
               "a chunk of {} is damaged: {}; look for a faulty link, or for a peer of another "
               "version",
               name_of(type), what);
}

// Reads and compares the header. Returns what is wrong, or null.
const char* open_chunk(std::span<const std::byte> chunk, DataType type, size_t count,
                       Header& header) {
  if (const char* wrong = read_header(chunk, header)) return wrong;
  if (header.type != type) return "it holds another number type than expected";
  if (header.count != count) return "it holds another count of values than expected";
  const bool coded = header.mode == Mode::kFast || header.mode == Mode::kDense;
  if (coded && shape_of(type).exponent_bits == 0) return "its type is never coded";
  const size_t least = header.mode == Mode::kRaw ? count * size_of(type) : 0;
  if (!coded && header.payload_bytes != least) return "its length does not fit its mode";
  return nullptr;
}

constexpr size_t kTilesAtOnce = 2;

struct Room {
  void* at;
  size_t values;  // whole blocks
};

// Decodes the payload's tiles a few blocks at a time: room() says where to, done(n) is told after.
template <class MakeRoom, class Done>
const char* decode_tiles(const Shape& shape, std::span<const std::byte> payload, size_t count,
                         const MakeRoom& make_room, const Done& done) {
  size_t used = table_bytes(count);
  if (used > payload.size()) return "it is shorter than its table of tiles";
  BlockParts parts;
  TileReader readers[kTilesAtOnce];
  for (size_t tile = 0; tile < tiles_of(count); tile += kTilesAtOnce) {
    const size_t opened = std::min(kTilesAtOnce, tiles_of(count) - tile);
    for (size_t k = 0; k < opened; ++k) {
      const size_t bytes = load<uint16_t>(payload.data() + 2 * (tile + k)) * kAlign;
      if (bytes > payload.size() - used) return "a tile reaches beyond the end";
      const size_t n = std::min(kTileValues, count - (tile + k) * kTileValues);
      if (const char* wrong = readers[k].open(shape, kernels(), payload.subspan(used, bytes), n))
        return wrong;
      used += bytes;
    }
    TileReader::read_symbols(readers, opened);
    for (size_t k = 0; k < opened; ++k)
      while (readers[k].next_values() != 0) {
        const Room room = make_room();
        size_t values = 0;
        if (const char* wrong = readers[k].read(parts, room.values, room.at, values)) return wrong;
        done(values);
      }
  }
  return used == payload.size() ? nullptr : "it is longer than its tiles";
}

}  // namespace

size_t bound(DataType type, size_t count) {
  return count * size_of(type) + kChunkOverhead;
}

size_t encode(DataType type, const void* values, size_t count, std::span<std::byte> out,
              const Options& options) {
  const size_t raw_bytes = count * size_of(type);
  STRAIT_CHECK(raw_bytes <= kMostBytes, "a chunk holds less than 4 GiB");
  STRAIT_CHECK(out.size() >= bound(type, count), "the room for a chunk is bound(type, count)");
  const auto* in = static_cast<const std::byte*>(values);
  Header header;
  header.type = type;
  header.count = static_cast<uint32_t>(count);
  header.payload_checked = options.checksum;
  const Shape shape = shape_of(type);
  size_t payload = 0;
  if (options.mode != Mode::kRaw && count > 0 && all_zero(in, raw_bytes)) {
    header.mode = Mode::kZero;
  } else {
    const bool tried =
        options.mode >= Mode::kFast && shape.exponent_bits != 0 && raw_bytes >= kLeastCoded;
    if (tried)
      payload = encode_payload(shape, options.mode, in, count, out.data() + kChunkOverhead);
    header.mode = payload != 0 ? options.mode : Mode::kRaw;
    if (payload == 0) {
      if (raw_bytes != 0) std::memcpy(out.data() + kChunkOverhead, values, raw_bytes);
      payload = raw_bytes;
    }
  }
  header.payload_bytes = static_cast<uint32_t>(payload);
  write_header(header, out);
  return kChunkOverhead + payload;
}

size_t wrap_raw(DataType type, size_t count, std::span<std::byte> out, const Options& options) {
  STRAIT_CHECK(out.size() >= bound(type, count), "the room for a chunk is bound(type, count)");
  const size_t payload = count * size_of(type);
  STRAIT_CHECK(payload <= kMostBytes, "a chunk holds less than 4 GiB");
  write_header({.mode = Mode::kRaw,
                .payload_checked = options.checksum,
                .type = type,
                .count = static_cast<uint32_t>(count),
                .payload_bytes = static_cast<uint32_t>(payload)},
               out);
  return kChunkOverhead + payload;
}

std::array<std::byte, kChunkOverhead> raw_header(DataType type, size_t count) {
  std::array<std::byte, kChunkOverhead> bytes{};
  write_header({.mode = Mode::kRaw,
                .payload_checked = false,
                .type = type,
                .count = static_cast<uint32_t>(count),
                .payload_bytes = static_cast<uint32_t>(count * size_of(type))},
               bytes);
  return bytes;
}

Result<ChunkInfo> inspect(std::span<const std::byte> chunk) {
  Header header;
  if (const char* wrong = read_header(chunk, header))
    return error(Code::kInternalError,
                 "a received chunk is damaged: {}; look for a faulty link, or for a peer of "
                 "another version",
                 wrong);
  return ChunkInfo{header.mode, header.type, header.count, kChunkOverhead + header.payload_bytes};
}

Status decode(std::span<const std::byte> chunk, DataType type, size_t count, void* values) {
  Header header;
  if (const char* wrong = open_chunk(chunk, type, count, header)) return damaged(type, wrong);
  const auto payload = chunk.subspan(kChunkOverhead, header.payload_bytes);
  const Shape shape = shape_of(type);
  if (count == 0) return {};
  if (header.mode == Mode::kZero) {
    std::memset(values, 0, count * size_of(type));
    return {};
  }
  if (header.mode == Mode::kRaw) {
    std::memcpy(values, payload.data(), payload.size());
    return {};
  }
  auto* out = static_cast<std::byte*>(values);
  const char* wrong = decode_tiles(
      shape, payload, count,
      [&] {
        return Room{out, kTileValues};
      },
      [&](size_t n) { out += n * shape.value_bytes; });
  return wrong == nullptr ? Status() : damaged(type, wrong);
}

Status decode_blocks(std::span<const std::byte> chunk, DataType type, size_t count,
                     BlockSink& sink) {
  Header header;
  if (const char* wrong = open_chunk(chunk, type, count, header)) return damaged(type, wrong);
  const auto payload = chunk.subspan(kChunkOverhead, header.payload_bytes);
  if (count == 0) return {};
  if (header.mode == Mode::kRaw) {
    sink.block(payload.data(), 0, count);
    return {};
  }
  alignas(64) std::byte buffer[kSinkValues * 8];
  const size_t value_bytes = size_of(type);
  if (header.mode == Mode::kZero) {
    std::memset(buffer, 0, std::min(kSinkValues, count) * value_bytes);
    for (size_t first = 0; first < count; first += kSinkValues)
      sink.block(buffer, first, std::min(kSinkValues, count - first));
    return {};
  }
  size_t first = 0, filled = 0;
  const char* wrong = decode_tiles(
      shape_of(type), payload, count,
      [&] {
        return Room{buffer + filled * value_bytes, kSinkValues - filled};
      },
      [&](size_t n) {
        filled += n;
        if (filled < kSinkValues && first + filled < count) return;
        sink.block(buffer, first, filled);
        first += filled;
        filled = 0;
      });
  return wrong == nullptr ? Status() : damaged(type, wrong);
}

}  // namespace strait::codec
