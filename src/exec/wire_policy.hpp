// WirePolicy: which mode the next chunk of a link is encoded in, for STRAIT_COMPRESS=auto. Each
// sender decides by itself, chunk by chunk, from what it has measured: how long a mode takes to
// encode, how small it makes values of this type, and what the link carries. Chunks describe
// themselves, so nobody has to be told, and no bit of a result depends on it.
//
//   cost of a mode = max(W, C) + min(W, C) / 16    W = wire bytes / rate of the link
//                                                  C = encode + decode, decode as a part of encode
//
// since a lane sends one chunk while it encodes the next, but not perfectly. The cheapest mode is
// taken; a change must gain a fiftieth. While it is only known what the link carries at least, raw
// must beat the encoding time alone, dense is not tried, and fast is the rule. Now and then a chunk
// is encoded a second time in another mode, so that modes are compared on the same values.
//
// Pure: no clock, no I/O, no allocation. Owned by a send port, used by its thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/types.hpp"
#include "codec/codec.hpp"
#include "transport/link.hpp"

namespace strait {

class WirePolicy {
 public:
  // The link's rate should be told again before this many choices.
  static constexpr uint32_t kChunksPerRate = 8;

  // True when it is time to tell the rate of the link.
  bool wants_rate() const { return choices_ % kChunksPerRate == 0; }
  void link_carries(LinkRate rate);
  // The mode for the next chunk of this type.
  codec::Mode choose(DataType type);
  // A mode in which that chunk should be encoded first, to be measured and thrown away.
  std::optional<codec::Mode> probe(DataType type) const;
  // What encoding in a mode led to: the values' bytes, the chunk's, and how long it took. After a
  // probe, first of that.
  void encoded(DataType type, codec::Mode mode, size_t value_bytes, size_t wire_bytes,
               int64_t took_ns);

  // A change of mode in words, told once: "dense instead of fast: the link carries 0.25 GB/s, ...".
  // Empty: no change since.
  std::string take_change(DataType type);

 private:
  static constexpr size_t kModes = 3;  // raw, fast, dense
  static constexpr size_t kFast = 1;
  static constexpr size_t kDense = 2;
  struct Values {                              // of one type
    std::array<double, kModes> ns_per_byte{};  // to encode; 0: not measured yet
    double fast_ratio = 1;                     // wire bytes of fast per byte of values
    double dense_part = 0.94;                  // wire bytes of dense per wire byte of fast
    size_t current = kFast;
    size_t told = kFast;  // the mode that the log knows of
    uint32_t choices = 0;
    size_t probed_bytes = 0;  // what the probe of the current chunk led to; 0: none
  };

  double ratio(const Values& values, size_t mode) const;
  double coding(const Values& values, size_t mode) const;
  double cost(const Values& values, size_t mode) const;
  size_t cheapest(const Values& values) const;

  std::array<Values, kDataTypeCount> values_{};
  LinkRate link_;
  uint32_t choices_ = 0;
};

}  // namespace strait
