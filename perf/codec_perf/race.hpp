// A race: every contender encodes and decodes the same chunks, in turn, several rounds; each figure
// is the median of its rounds. Times are the thread's own (a busy machine slows nobody down more
// than others). One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perf/codec_perf/contender.hpp"

namespace strait::perf {

struct Field {
  std::string name;
  DataType type = DataType::kBfloat16;
  std::vector<std::byte> values;
};

struct Standing {
  std::string contender;
  double saving = 0;      // 1 - wire bytes / bytes
  double encode_gbs = 0;  // 1e9 bytes of values per second
  double decode_gbs = 0;
  std::optional<double> decode_add_gbs;  // decoding into sums, in one pass
  std::optional<double> then_add_gbs;    // decoding, then adding
  bool exact = false;
};

std::vector<Standing> race(const Field& field, size_t chunk_bytes, int rounds,
                           std::vector<std::unique_ptr<Contender>>& contenders);

}  // namespace strait::perf
