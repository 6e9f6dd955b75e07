// Plan: what one rank does for one collective, as data. Steps say what moves where; who runs them
// (verifier, simulator, host or CUDA executor) is not the plan's business. Values: freely copied,
// printed, parsed (text.hpp), compared; any thread.
//
// A step takes up to two operands out of {what a peer sent, a local range, a second local range},
// combines them with the request's reduction if there are two, and puts the value into a local
// range and/or sends it to a peer:
//
//     recv_from ─┐                      ┌─> target
//        source ─┼─ combine ─ finish? ──┤
//        addend ─┘                      └─> send_to
//
// Rounds: a lane runs its steps once per round. In round r, a step handles elements [r*piece,
// (r+1)*piece) of its `count` elements, or nothing when r*piece >= count. Offsets into input and
// output advance by r*piece; offsets into scratch do not (scratch holds the current piece only).
// Rounds go on until every step has handled its count. So a plan's length does not depend on the
// message size.
//
// Values: input and output hold elements of the request's type. Scratch holds partial sums
// (accumulator type: fp32 for 16- and 8-bit floats, so that one hop rounds once). On the wire
// travels the request's type. A read of Buffer::kInput in a reducing collective is scaled (avg of
// floats, pre-mul-sum) as it is read; `finish` marks the step whose value is the complete reduction
// (integer avg divides there, once).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace strait {

enum class Buffer : uint8_t { kInput, kOutput, kScratch };

// How bytes travel on an edge: as they are, or in the codec's self-describing chunks (which the
// sender may leave raw).
enum class Wire : uint8_t { kPlain, kCoded };

struct Place {
  Buffer buffer = Buffer::kInput;
  uint64_t offset = 0;  // elements
  bool operator==(const Place&) const = default;
};

inline constexpr int kNoPeer = -1;

struct Step {
  uint64_t count = 0;  // elements over all rounds
  int recv_from = kNoPeer;
  std::optional<Place> source = std::nullopt;
  std::optional<Place> addend = std::nullopt;
  std::optional<Place> target = std::nullopt;
  int send_to = kNoPeer;
  Wire recv_wire = Wire::kPlain;
  Wire send_wire = Wire::kPlain;
  bool finish = false;
  bool operator==(const Step&) const = default;
};

// Steps run in order; lanes run beside each other and touch no element that another lane writes. A
// message between two ranks travels on the link of the same lane number on both sides. An executor
// may keep the messages of a sum (steps whose target is scratch, up to the step that takes the sum
// out of it) until it adds all of them up at once; slots_min allows for it.
struct Lane {
  uint64_t piece = 1;  // elements per round
  std::vector<Step> steps;
  bool operator==(const Lane&) const = default;
};

struct Plan {
  int rank = 0;
  int rank_count = 1;
  uint64_t scratch_count = 0;  // elements of accumulator type, all lanes together
  int slots_min = 1;           // links need at least this many slots, or the plan can deadlock
  std::vector<Lane> lanes;
  bool operator==(const Plan&) const = default;
};

}  // namespace strait
