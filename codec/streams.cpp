#include "codec/streams.hpp"

#include <algorithm>
#include <bit>

#include "codec/bytes.hpp"
#include "codec/kernels.hpp"

namespace strait::codec {
namespace {

constexpr size_t kWideStore = 8;  // bytes stored at once, most of which later stores overwrite
constexpr size_t kMostLaneBytes = kTileValues / kLanes;

}  // namespace

size_t write_lengths(const uint32_t length[kLanes], uint8_t* out) {
  uint32_t least = length[0], most = length[0];
  for (size_t lane = 0; lane < kLanes; ++lane) {
    least = std::min(least, length[lane]);
    most = std::max(most, length[lane]);
  }
  if (most - least > 255) return 0;
  const auto width = static_cast<size_t>(std::bit_width(most - least));
  store<uint16_t>(out, static_cast<uint16_t>(least));
  out[2] = static_cast<uint8_t>(width);
  uint8_t more[kLanes];
  for (size_t lane = 0; lane < kLanes; ++lane)
    more[lane] = static_cast<uint8_t>(length[lane] - least);
  portable_kernels().pack_bits(more, kLanes, width, out + 3);
  return 3 + width * bit_bytes(kLanes);
}

size_t write_streams(AppendLanes append_lanes, const LanePieces& pieces, uint8_t* out,
                     size_t room) {
  uint32_t length[kLanes] = {};
  for (size_t at = 0; at < pieces.used; at += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) length[lane] += pieces.count[at + lane];
  size_t total = kMostLaneHeader + kWideStore;
  for (uint32_t& lane : length) {
    lane = (lane + 7) / 8;
    total += lane;
  }
  if (total > room) return 0;
  const size_t header = write_lengths(length, out);
  if (header == 0) return 0;
  uint8_t* stream = out + header;
  uint8_t odd[kMostLaneBytes + kWideStore];
  for (size_t lane = 0; lane < kLanes; lane += 2) {
    append_lanes(pieces, lane, stream, odd);
    stream += length[lane];
    std::memcpy(stream, odd, length[lane + 1]);
    stream += length[lane + 1];
  }
  return static_cast<size_t>(stream - out);
}

std::span<const uint8_t> open_streams(std::span<const uint8_t>& in, LanePositions& start,
                                      LanePositions& end) {
  if (in.size() < 3 || in[2] > 8) return {};
  const size_t width = in[2], header = 3 + 4 * width;
  if (in.size() < header) return {};
  const uint32_t least = load<uint16_t>(in.data());
  uint32_t at = 0;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    uint32_t more = 0;
    for (size_t p = 0; p < width; ++p)
      more |= ((load<uint32_t>(in.data() + 3 + 4 * p) >> lane) & 1) << p;
    start.bit[lane] = at;
    at += 8 * (least + more);
    end.bit[lane] = at;
  }
  const size_t bytes = at / 8;
  if (bytes > in.size() - header) return {};
  const auto streams = in.subspan(header, bytes);
  in = in.subspan(header + bytes);
  return streams;
}

bool at_end(const LanePositions& position, const LanePositions& end) {
  bool all = true;
  for (size_t lane = 0; lane < kLanes; ++lane)
    all &= round_up(position.bit[lane], 8) == end.bit[lane];
  return all;
}

}  // namespace strait::codec
