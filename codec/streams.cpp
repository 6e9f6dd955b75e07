#include "codec/streams.hpp"

#include <algorithm>
#include <bit>

#include "codec/bytes.hpp"

namespace strait::codec {
namespace {

constexpr size_t kWideStore = 8;  // bytes stored at once, most of which later stores overwrite

// Appends a lane's pieces at `out`, which may be written up to kWideStore bytes further than its
// bits reach.
void append_lane(const LanePieces& pieces, size_t lane, uint8_t* out) {
  uint64_t waiting = 0;  // fewer than eight bits between pieces
  uint32_t count = 0;
  for (size_t at = lane; at < pieces.rows * kLanes; at += kLanes) {
    waiting |= uint64_t{pieces.bits[at]} << count;
    count += pieces.count[at];
    store<uint64_t>(out, waiting);
    out += count / 8;
    waiting >>= count & ~7u;
    count &= 7;
  }
  store<uint64_t>(out, waiting);
}

}  // namespace

size_t write_lengths(const uint32_t length[kLanes], uint8_t* out) {
  const auto [shortest, longest] = std::minmax_element(length, length + kLanes);
  const uint32_t least = *shortest, spread = *longest - least;
  if (spread > 255) return 0;
  const int width = std::bit_width(spread);
  store<uint16_t>(out, static_cast<uint16_t>(least));
  out[2] = static_cast<uint8_t>(width);
  for (int p = 0; p < width; ++p) {
    uint32_t plane = 0;
    for (size_t lane = 0; lane < kLanes; ++lane)
      plane |= (((length[lane] - least) >> p) & 1) << lane;
    store<uint32_t>(out + 3 + 4 * p, plane);
  }
  return 3 + 4 * static_cast<size_t>(width);
}

size_t write_streams(const LanePieces& pieces, uint8_t* out, size_t room) {
  uint32_t length[kLanes] = {};
  for (size_t row = 0; row < pieces.rows; ++row)
    for (size_t lane = 0; lane < kLanes; ++lane) length[lane] += pieces.count[row * kLanes + lane];
  size_t total = kMostLaneHeader + kWideStore;
  for (uint32_t& lane : length) {
    lane = (lane + 7) / 8;
    total += lane;
  }
  if (total > room) return 0;
  const size_t header = write_lengths(length, out);
  if (header == 0) return 0;
  uint8_t* stream = out + header;
  // In order, so that what one lane writes too much is overwritten by the next.
  for (size_t lane = 0; lane < kLanes; ++lane) {
    append_lane(pieces, lane, stream);
    stream += length[lane];
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
