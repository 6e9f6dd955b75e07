// Reach: how the two ends of a ring speak of memory that lies outside of it. The sender's end names
// bytes, the receiver's end finds them. Shared by the links to one rank; any thread. Naming and
// finding allocate nothing, except when a segment is met for the first time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/status.hpp"

namespace strait {

// What lies in the slot of a message that was lent.
struct Reference {
  uint64_t segment = 0;  // 0: addresses of this process
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

class Reach {
 public:
  struct Found {
    std::span<const std::byte> bytes;   // empty: not yet, ask again
    std::shared_ptr<const void> keeps;  // them readable
  };

  virtual ~Reach() = default;
  virtual std::optional<Reference> name(std::span<const std::byte> bytes) const = 0;
  // The other side's word is not trusted.
  virtual Result<Found> find(const Reference& reference) = 0;
};

// Between threads of one process every address is a name.
class ProcessReach final : public Reach {
 public:
  std::optional<Reference> name(std::span<const std::byte> bytes) const override {
    return Reference{.offset = reinterpret_cast<uintptr_t>(bytes.data()), .bytes = bytes.size()};
  }
  Result<Found> find(const Reference& reference) override {
    return Found{.bytes = {reinterpret_cast<const std::byte*>(reference.offset), reference.bytes},
                 .keeps = nullptr};
  }
};

}  // namespace strait
