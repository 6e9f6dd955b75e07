// The codec: makes a block of numbers smaller and gives it back exactly, bit for bit. Pure
// functions; any thread, no state between chunks, no allocation. A chunk describes itself (format,
// mode, type, count, length, check); the format is README.md. Whatever does not shrink is left raw,
// so a chunk is never more than kChunkOverhead bytes longer than its values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "base/types.hpp"
#include "codec/frame.hpp"

namespace strait::codec {

struct Options {
  Mode mode = Mode::kFast;  // the most that is tried: kRaw, kFast or kDense; zero and raw are
                            // always allowed
  bool checksum = false;    // check the payload as well as the header
};

// The largest chunk that encode() can make of `count` values: the slot size to provide.
size_t bound(DataType type, size_t count);

// Encodes count values (any alignment) into out, which must hold bound(type, count) bytes. Returns
// the chunk's bytes.
size_t encode(DataType type, const void* values, size_t count, std::span<std::byte> out,
              const Options& options);

// Of values that lie at out + kChunkOverhead already: makes them a raw chunk where they are.
// Returns its bytes.
size_t wrap_raw(DataType type, size_t count, std::span<std::byte> out, const Options& options);

// The first kChunkOverhead bytes of the raw chunk of so many values, which follow elsewhere. The
// payload is not checked.
std::array<std::byte, kChunkOverhead> raw_header(DataType type, size_t count);

struct ChunkInfo {
  Mode mode = Mode::kRaw;
  DataType type = DataType::kInt8;
  size_t count = 0;  // values
  size_t bytes = 0;  // the whole chunk
};

// Reads and checks the header. Any bytes are safe; an error says what is wrong with them.
Result<ChunkInfo> inspect(std::span<const std::byte> chunk);

// Decodes a chunk that must hold `count` values of `type` into values (any alignment). Never reads
// past chunk nor writes past count values, whatever the bytes; any damage that the format can
// detect is a Status.
Status decode(std::span<const std::byte> chunk, DataType type, size_t count, void* values);

// Receives decoded values in order. `values` are `count` elements that start at element `first` of
// the chunk; they are valid during the call only.
class BlockSink {
 public:
  virtual void block(const void* values, size_t first, size_t count) = 0;

 protected:
  ~BlockSink() = default;
};

// Decodes by blocks that stay in the first-level cache, for a reduction that follows: one pass over
// memory. Raw chunks are handed over in place in one block. On an error the sink may have seen some
// blocks.
Status decode_blocks(std::span<const std::byte> chunk, DataType type, size_t count,
                     BlockSink& sink);

}  // namespace strait::codec
