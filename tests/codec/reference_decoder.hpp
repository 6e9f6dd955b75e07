// A decoder of the wire format written from codec/README.md alone: one bit at a time, no sharing
// with codec/. What it says a chunk means is what the codec must say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace strait::codec::reference {

// The bytes of the values, or nothing when the chunk is not well formed.
std::optional<std::vector<uint8_t>> decode(std::span<const std::byte> chunk);

}  // namespace strait::codec::reference
