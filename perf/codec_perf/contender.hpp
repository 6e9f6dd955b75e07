// Contender: one way to make values smaller, ours or another library's, behind one interface, so
// that all are measured on the same chunks in the same run. Owned by the program; one thread. Costs
// one virtual call per chunk.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace strait::perf {

class Contender {
 public:
  virtual ~Contender() = default;
  virtual std::string name() const = 0;
  virtual bool handles(DataType type) const = 0;
  virtual size_t bound(DataType type, size_t bytes) const = 0;
  // Returns the bytes written to out, which holds bound(); 0 on failure.
  virtual size_t encode(DataType type, std::span<const std::byte> values,
                        std::span<std::byte> out) = 0;
  virtual bool decode(DataType type, std::span<const std::byte> chunk,
                      std::span<std::byte> values) = 0;
  // Decodes and adds to the sums in one go; false when there is no such way.
  virtual bool decode_add(DataType, std::span<const std::byte>, std::span<std::byte>) {
    return false;
  }
};

// memcpy first, then ours (named modes, or both).
std::vector<std::unique_ptr<Contender>> our_contenders(const std::vector<std::string>& modes);
// What of the other libraries was there when this was built.
std::vector<std::unique_ptr<Contender>> peer_contenders();

}  // namespace strait::perf
