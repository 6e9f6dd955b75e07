#include "simt/warp.hpp"

#include <bit>

namespace strait::simt {
namespace {

bool holds(uint32_t mask, uint32_t lane) {
  return (mask >> lane & 1) != 0;
}

void give_all(Warp& warp, uint32_t mask, uint64_t result) {
  for (uint32_t lane = 0; lane < Warp::kLanes; ++lane) {
    warp.result[lane] = holds(mask, lane) ? result : warp.result[lane];
  }
}

// The lane that a lane reads from: out of its segment of `width` lanes, nobody but itself.
uint32_t source_of(WarpOp op, uint32_t lane, uint32_t packed) {
  const uint32_t argument = packed & 31, in_segment = (packed >> 16) - 1;
  const uint32_t first = lane & ~in_segment, last = lane | in_segment;
  switch (op) {
    case WarpOp::kShuffle:
      return first | (argument & in_segment);
    case WarpOp::kShuffleUp:
      return lane >= first + argument ? lane - argument : lane;
    case WarpOp::kShuffleDown:
      return lane + argument <= last ? lane + argument : lane;
    default:
      return (lane ^ argument) <= last ? lane ^ argument : lane;
  }
}

void shuffle(Warp& warp, WarpOp op, uint32_t mask) {
  for (uint32_t lane = 0; lane < Warp::kLanes; ++lane) {
    if (!holds(mask, lane)) continue;
    const uint32_t source = source_of(op, lane, warp.argument[lane]) & 31;
    warp.result[lane] = holds(mask, source) ? warp.value[source] : kUnset;
  }
}

void match_any(Warp& warp, uint32_t mask) {
  for (uint32_t left = mask; left != 0;) {
    const uint64_t value = warp.value[std::countr_zero(left)];
    uint32_t same = 0;
    for (uint32_t lane = 0; lane < Warp::kLanes; ++lane) {
      same |= static_cast<uint32_t>(warp.value[lane] == value) << lane;
    }
    same &= left;
    give_all(warp, same, same);
    left &= ~same;
  }
}

uint32_t votes(const Warp& warp, uint32_t mask) {
  uint32_t bits = 0;
  for (uint32_t lane = 0; lane < Warp::kLanes; ++lane) {
    bits |= static_cast<uint32_t>(warp.value[lane] & 1) << lane;
  }
  return bits & mask;
}

template <class Combine>
void reduce(Warp& warp, uint32_t mask, Combine combine) {
  uint64_t total = warp.value[std::countr_zero(mask)];
  for (uint32_t left = mask & (mask - 1); left != 0; left &= left - 1) {
    total = combine(total, warp.value[std::countr_zero(left)]);
  }
  give_all(warp, mask, total);
}

}  // namespace

const char* name_of(WarpOp op) {
  static constexpr const char* kNames[] = {
      "__syncwarp",        "__shfl_sync",       "__shfl_up_sync",    "__shfl_down_sync",
      "__shfl_xor_sync",   "__ballot_sync",     "__any_sync",        "__all_sync",
      "__match_any_sync",  "__match_all_sync",  "__reduce_add_sync", "__reduce_min_sync",
      "__reduce_max_sync", "__reduce_and_sync", "__reduce_or_sync",  "__reduce_xor_sync"};
  return kNames[static_cast<int>(op)];
}

bool agree(const Warp& warp, WarpOp op, uint32_t mask) {
  uint32_t apart = 0;
  for (uint32_t lane = 0; lane < Warp::kLanes; ++lane) {
    const uint32_t differs = (warp.op[lane] ^ static_cast<uint32_t>(op)) | (warp.mask[lane] ^ mask);
    apart |= holds(mask & warp.present, lane) ? differs : 0;
  }
  return apart == 0;
}

void complete(Warp& warp, WarpOp op, uint32_t mask) {
  using Signed = int64_t;
  switch (op) {
    case WarpOp::kSync:
      return;
    case WarpOp::kShuffle:
    case WarpOp::kShuffleUp:
    case WarpOp::kShuffleDown:
    case WarpOp::kShuffleXor:
      return shuffle(warp, op, mask);
    case WarpOp::kBallot:
      return give_all(warp, mask, votes(warp, mask));
    case WarpOp::kAny:
      return give_all(warp, mask, votes(warp, mask) != 0);
    case WarpOp::kAll:
      return give_all(warp, mask, votes(warp, mask) == mask);
    case WarpOp::kMatchAny:
      return match_any(warp, mask);
    case WarpOp::kMatchAll: {
      match_any(warp, mask);
      const bool same = warp.result[std::countr_zero(mask)] == mask;
      return give_all(warp, mask, same ? mask : 0);
    }
    case WarpOp::kReduceAdd:
      return reduce(warp, mask, [](uint64_t a, uint64_t b) { return a + b; });
    case WarpOp::kReduceMin:
      return reduce(warp, mask, [](uint64_t a, uint64_t b) {
        return static_cast<Signed>(a) < static_cast<Signed>(b) ? a : b;
      });
    case WarpOp::kReduceMax:
      return reduce(warp, mask, [](uint64_t a, uint64_t b) {
        return static_cast<Signed>(a) > static_cast<Signed>(b) ? a : b;
      });
    case WarpOp::kReduceAnd:
      return reduce(warp, mask, [](uint64_t a, uint64_t b) { return a & b; });
    case WarpOp::kReduceOr:
      return reduce(warp, mask, [](uint64_t a, uint64_t b) { return a | b; });
    case WarpOp::kReduceXor:
      return reduce(warp, mask, [](uint64_t a, uint64_t b) { return a ^ b; });
  }
}

}  // namespace strait::simt
