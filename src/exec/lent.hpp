// LentRanges: what one lane of an execution has lent to its peers and not had back: no step may
// write there, and the call does not end before all is back. Used by the thread that runs the
// execution; a look costs a load of a shared line for each range that is out, and nothing is
// allocated after reserve().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/ports.hpp"

namespace strait {

class LentRanges {
 public:
  // As many as there are slots.
  void reserve(size_t most) { out_.reserve(most); }

  // The bytes have just been lent, in the message of this number.
  void add(SendPort& port, uint64_t number, std::span<const std::byte> bytes) {
    out_.push_back({&port, number, bytes.data(), bytes.data() + bytes.size()});
  }
  // Nothing of these bytes is out.
  bool is_free(const std::byte* begin, size_t bytes) {
    if (out_.empty()) return true;
    take_back();
    return std::ranges::none_of(out_, [&](const Range& range) {
      return std::less<>()(range.begin, begin + bytes) && std::less<>()(begin, range.end);
    });
  }
  bool all_back() {
    if (!out_.empty()) take_back();
    return out_.empty();
  }
  // Why one of them will not come back; ok where none is lost. A reader may give back and leave.
  Status loss() const {
    for (const Range& range : out_) {
      SendLink& link = *range.port->link;
      const Status status = link.status();
      if (!status.ok() && !link.returned(range.number)) return status;
    }
    return Status();
  }
  // Where the oldest went to that is still out; null: all is back.
  const SendPort* debtor() const { return out_.empty() ? nullptr : out_.front().port; }

 private:
  struct Range {
    SendPort* port;
    uint64_t number;
    const std::byte* begin;
    const std::byte* end;
  };

  void take_back() {
    std::erase_if(out_,
                  [](const Range& range) { return range.port->link->returned(range.number); });
  }

  std::vector<Range> out_;
};

}  // namespace strait
