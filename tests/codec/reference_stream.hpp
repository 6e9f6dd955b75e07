// The reference decoder's bits: canonical codes, and one lane of a tile read bit by bit. Plain
// values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace strait::codec::reference {

struct Malformed {};

// Codes of the given lengths: counted up, shorter ones first, equal ones in order; 0 has none.
inline std::map<std::vector<bool>, int> canonical_code(const std::vector<int>& lengths) {
  std::map<std::vector<bool>, int> code;
  uint32_t next = 0;
  for (int length = 1; length <= 8; ++length, next *= 2)
    for (size_t symbol = 0; symbol < lengths.size(); ++symbol) {
      if (lengths[symbol] != length) continue;
      std::vector<bool> bits;
      for (int b = length - 1; b >= 0; --b) bits.push_back((next >> b) & 1);
      code[bits] = static_cast<int>(symbol);
      ++next;
    }
  return code;
}

// One lane of a tile.
class Stream {
 public:
  explicit Stream(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}
  bool bit() {
    if (at_ == 8 * bytes_.size()) throw Malformed{};
    const bool set = (bytes_[at_ / 8] >> (at_ % 8)) & 1;
    ++at_;
    return set;
  }
  uint32_t number(int bits) {
    uint32_t value = 0;
    for (int b = 0; b < bits; ++b) value |= uint32_t{bit()} << b;
    return value;
  }
  int symbol(const std::map<std::vector<bool>, int>& code) {
    std::vector<bool> bits;
    do bits.push_back(bit());
    while (code.count(bits) == 0);
    return code.at(bits);
  }
  bool finished() const { return (at_ + 7) / 8 == bytes_.size(); }

 private:
  std::vector<uint8_t> bytes_;
  size_t at_ = 0;
};

}  // namespace strait::codec::reference
