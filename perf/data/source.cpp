#include "perf/data/source.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "perf/data/exact_source.hpp"
#include "perf/data/number.hpp"
#include "perf/data/tensor_source.hpp"

namespace strait::perf {
namespace {

// Bell-shaped numbers as weights have them: the sum of four uniform 16-bit numbers, scaled to a
// deviation of 0.02 (20 for integers). Made of integers and one multiplication, so that every
// machine makes the same.
class NormalSource : public Source {
 public:
  void fill(const Problem& problem, int rank, uint64_t first, uint64_t count,
            std::byte* out) const override {
    with_type(problem.type, [&]<class T>(T) {
      for (uint64_t i = 0; i < count; ++i) {
        const T value = at<T>(mix(static_cast<uint64_t>(rank), first + i));
        std::memcpy(out + i * sizeof(T), &value, sizeof(T));
      }
    });
  }

 private:
  static constexpr double kDeviation = 37837.2;  // of the sum: 65536 * sqrt(4 / 12)

  template <class T>
  static T at(uint64_t hash) {
    int64_t sum = -2 * 65535;
    for (int part = 0; part < 4; ++part)
      sum += static_cast<int64_t>((hash >> (16 * part)) & 0xffff);
    const double unit = static_cast<double>(sum) / kDeviation;
    if constexpr (kIsFloat<T>)
      return store<T>(static_cast<Accumulator<T>>(unit * 0.02));
    else
      return static_cast<T>(static_cast<int64_t>(std::lround(unit * 20)));
  }
};

class ZeroSource : public Source {
 public:
  void fill(const Problem& problem, int, uint64_t, uint64_t count, std::byte* out) const override {
    std::memset(out, 0, count * size_of(problem.type));
  }
  bool exact_in_any_order() const override { return true; }
};

}  // namespace

Result<std::unique_ptr<Source>> make_source(const std::string& data) {
  if (data == "random") return std::unique_ptr<Source>(std::make_unique<ExactSource>());
  if (data == "normal") return std::unique_ptr<Source>(std::make_unique<NormalSource>());
  if (data == "zeros") return std::unique_ptr<Source>(std::make_unique<ZeroSource>());
  STRAIT_ASSIGN(SafetensorsFile file, SafetensorsFile::open(data));
  return std::unique_ptr<Source>(std::make_unique<TensorSource>(std::move(file), data));
}

}  // namespace strait::perf
