// The first 16 bytes of every chunk, and the check that covers them. Pure functions; any thread.
// The check of a payload reads it once, at several bytes a clock.
#pragma once

#include <span>

#include "codec/codec.hpp"

namespace strait::codec {

struct Header {
  Mode mode = Mode::kRaw;
  bool payload_checked = false;
  DataType type = DataType::kInt8;
  uint32_t count = 0;
  uint32_t payload_bytes = 0;
};

// Writes the header in front of a finished payload: chunk holds both.
void write_header(const Header& header, std::span<std::byte> chunk);

// Reads a header and verifies it (and the payload where the sender covered it). Returns what is
// wrong, or null.
const char* read_header(std::span<const std::byte> chunk, Header& header);

}  // namespace strait::codec
