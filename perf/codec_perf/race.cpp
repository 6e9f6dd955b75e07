#include "perf/codec_perf/race.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "exec/reduce.hpp"

namespace strait::perf {
namespace {

double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// One contender's run over a field.
class Run {
 public:
  Run(Contender& contender, const Field& field, size_t chunk_bytes)
      : contender_(contender), field_(field), back_(field.values.size()), sums_(back_.size()) {
    for (size_t at = 0; at < field.values.size(); at += chunk_bytes) {
      const size_t bytes = std::min(chunk_bytes, field.values.size() - at);
      pieces_.push_back({at, bytes, std::vector<std::byte>(contender.bound(field.type, bytes)), 0});
    }
  }

  void round() {
    const double gigabytes = static_cast<double>(field_.values.size()) / 1e9;
    const std::span<const std::byte> values(field_.values);
    double start = thread_seconds();
    for (Piece& piece : pieces_)
      piece.size =
          contender_.encode(field_.type, values.subspan(piece.at, piece.bytes), piece.chunk);
    encode_.push_back(gigabytes / (thread_seconds() - start));
    start = thread_seconds();
    for (const Piece& piece : pieces_) exact_ = decode(piece) && exact_;
    decode_.push_back(gigabytes / (thread_seconds() - start));
    exact_ = exact_ && std::memcmp(back_.data(), values.data(), values.size()) == 0;
    add_round(gigabytes);
  }

  Standing standing() const {
    size_t wire = 0;
    bool whole = true;
    for (const Piece& piece : pieces_) {
      wire += piece.size;
      whole = whole && piece.size != 0;
    }
    Standing result;
    result.contender = contender_.name();
    result.saving = 1 - static_cast<double>(wire) / static_cast<double>(field_.values.size());
    result.encode_gbs = median(encode_);
    result.decode_gbs = median(decode_);
    if (!decode_add_.empty()) result.decode_add_gbs = median(decode_add_);
    if (!then_add_.empty()) result.then_add_gbs = median(then_add_);
    result.exact = exact_ && whole;
    return result;
  }

 private:
  struct Piece {
    size_t at;
    size_t bytes;
    std::vector<std::byte> chunk;
    size_t size;
  };

  std::span<const std::byte> chunk_of(const Piece& piece) const {
    return std::span(piece.chunk).first(piece.size);
  }
  bool decode(const Piece& piece) {
    return contender_.decode(field_.type, chunk_of(piece),
                             std::span(back_).subspan(piece.at, piece.bytes));
  }

  void add_round(double gigabytes) {
    double start = thread_seconds();
    for (const Piece& piece : pieces_)
      if (!contender_.decode_add(field_.type, chunk_of(piece),
                                 std::span(sums_).subspan(piece.at, piece.bytes)))
        return;
    decode_add_.push_back(gigabytes / (thread_seconds() - start));
    const Arithmetic arithmetic = make_arithmetic(field_.type, ReduceKind::kSum, 2, nullptr);
    start = thread_seconds();
    for (const Piece& piece : pieces_) {
      decode(piece);
      std::byte* sum = sums_.data() + piece.at;
      combine(arithmetic, {sum, Form::kNarrow}, {sum, Form::kNarrow, false},
              {back_.data() + piece.at, Form::kNarrow, false}, true,
              piece.bytes / size_of(field_.type));
    }
    then_add_.push_back(gigabytes / (thread_seconds() - start));
  }

  Contender& contender_;
  const Field& field_;
  std::vector<Piece> pieces_;
  std::vector<std::byte> back_;
  std::vector<std::byte> sums_;
  std::vector<double> encode_, decode_, decode_add_, then_add_;
  bool exact_ = true;
};

}  // namespace

std::vector<Standing> race(const Field& field, size_t chunk_bytes, int rounds,
                           std::vector<std::unique_ptr<Contender>>& contenders) {
  std::vector<std::unique_ptr<Run>> runs;
  for (const auto& contender : contenders)
    if (contender->handles(field.type))
      runs.push_back(std::make_unique<Run>(*contender, field, chunk_bytes));
  for (int round = 0; round < rounds; ++round)
    for (const auto& run : runs) run->round();
  std::vector<Standing> standings;
  for (const auto& run : runs) standings.push_back(run->standing());
  return standings;
}

}  // namespace strait::perf
