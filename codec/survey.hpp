// A look at all full blocks of a tile before any is coded in the dense mode: which table codes each
// block's exponents, where that needs no closer look. What blocks wait for (counts, choices) is
// done for many of them side by side. Lives on the stack of the tile's encoder (20 KiB); one
// thread.
#pragma once

#include "codec/choose.hpp"
#include "codec/kernels.hpp"

namespace strait::codec {

class TileSurvey {
 public:
  // Cuts `blocks` full blocks of a type whose exponents fit bytes. Their planes are put into
  // planes, one block's behind the other's, as if tables coded all exponents.
  void take(const Shape& shape, const Kernels& kernels, const uint8_t* values, size_t blocks,
            uint8_t* planes, BlockParts& parts);

  // Whether a table codes the block and all of its planes stay as they are.
  bool is_certain(size_t block) const { return block < blocks_ && certain_[block]; }
  TableChoice table(size_t block) const {
    return {choices_.table[block], choices_.table_bits[block]};
  }
  int mean(size_t block) const { return counts_.top[block] - kAboveMean; }
  uint8_t* exponents(size_t block) { return exponents_ + block * kBlockValues; }

 private:
  void choose_user_table(size_t block);

  size_t blocks_ = 0;
  bool certain_[kTileBlocks];
  TileCounts counts_ = {};
  TileChoices choices_;
  alignas(64) uint8_t exponents_[kTileValues];
};

// The bytes of a full block's planes when a table codes its exponents and all planes are full.
constexpr size_t full_plane_bytes(const Shape& shape) {
  return shape.byte_planes() * kBlockValues + shape.bit_planes() * bit_bytes(kBlockValues);
}

// Cuts a full block into parts, its planes into their places.
void cut_full_block(const Shape& shape, const Kernels& kernels, const void* values, uint8_t* planes,
                    BlockParts& parts);

}  // namespace strait::codec
