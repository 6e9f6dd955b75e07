// arithmetic_perf: how fast reductions of host memory are, beside a copy of the same number of
// bytes. Each row reads and writes blocks of the given size (64 KiB: the second cache; 16 MiB:
// memory); bytes_per_second counts what is read plus what is written. With --target NAME (baseline,
// avx2, avx512) another instruction set than the best is measured.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "exec/reduce.hpp"
#include "exec/reduce/kernel.hpp"

namespace strait {
namespace {

const reduce::Target* target = reduce::targets_here().front();

struct Shape {
  const char* name;
  Form out;
  Form first;
  Form second;
};
constexpr Shape kShapes[] = {{"narrow+narrow->narrow", Form::kNarrow, Form::kNarrow, Form::kNarrow},
                             {"narrow+narrow->wide", Form::kWide, Form::kNarrow, Form::kNarrow},
                             {"narrow+wide->wide", Form::kWide, Form::kNarrow, Form::kWide},
                             {"narrow+wide->narrow", Form::kNarrow, Form::kNarrow, Form::kWide}};

size_t bytes_of(DataType type, Form form) {
  return form == Form::kWide ? accumulator_size(type) : size_of(type);
}

// Memory of its own cache lines, as slots and gradients have.
struct alignas(64) Line {
  char bytes[64];
};
class Block {
 public:
  explicit Block(size_t bytes) : lines_((bytes + sizeof(Line) - 1) / sizeof(Line)), size_(bytes) {}
  char* data() { return lines_.data()->bytes; }
  const char* data() const { return lines_.data()->bytes; }
  size_t size() const { return size_; }

 private:
  std::vector<Line> lines_;
  size_t size_;
};

// Ordinary numbers: subnormal ones and NaNs cost other than what a gradient costs.
Block operand(DataType type, Form form, size_t count) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = 0.25f + static_cast<float>(i % 61) * 0.03125f;
  Block bytes(count * bytes_of(type, form));
  if (is_narrow_float(type))
    combine({.type = type}, {bytes.data(), form}, {numbers.data(), Form::kWide}, {}, false, count);
  else if (type == DataType::kFloat32)
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
  else
    for (size_t i = 0; i < bytes.size(); ++i) bytes.data()[i] = static_cast<char>(i % 53);
  return bytes;
}

void measure_copy(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  Block from(bytes);
  Block to(bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * 2 * bytes));
}

void measure_pair(benchmark::State& state, DataType type, ReduceKind kind, const Shape& shape,
                  bool scaled) {
  // The widest of the three memories has the block's size.
  const auto block = static_cast<size_t>(state.range(0));
  const size_t widest = std::max(
      {bytes_of(type, shape.out), bytes_of(type, shape.first), bytes_of(type, shape.second)});
  const size_t count = block / widest;
  const uint64_t one = 1;
  const Arithmetic arithmetic = make_arithmetic(type, kind, 4, &one);
  const Block first = operand(type, shape.first, count);
  const Block second = operand(type, shape.second, count);
  Block out(count * bytes_of(type, shape.out));
  for (auto _ : state) {
    reduce::combine_on(*target, arithmetic, {out.data(), shape.out},
                       {first.data(), shape.first, scaled}, {second.data(), shape.second, scaled},
                       true, count);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(
      static_cast<int64_t>(state.iterations() * (first.size() + second.size() + out.size())));
}

void measure_many(benchmark::State& state, DataType type, size_t operand_count, bool fused) {
  const size_t count = static_cast<size_t>(state.range(0)) / size_of(type);
  const Arithmetic arithmetic{.type = type};
  std::vector<Block> data(operand_count, operand(type, Form::kNarrow, count));
  std::vector<Operand> operands;
  for (const auto& bytes : data) operands.push_back({bytes.data()});
  Block out(count * size_of(type));
  Block partial(count * accumulator_size(type));
  for (auto _ : state) {
    if (fused) {
      reduce::combine_many_on(*target, arithmetic, {out.data()}, operands, true, count);
    } else {
      const Operand so_far{partial.data(), Form::kWide};
      const Output accumulator{partial.data(), Form::kWide};
      reduce::combine_on(*target, arithmetic, accumulator, operands[0], operands[1], false, count);
      for (size_t i = 2; i + 1 < operand_count; ++i)
        reduce::combine_on(*target, arithmetic, accumulator, so_far, operands[i], false, count);
      reduce::combine_on(*target, arithmetic, {out.data()}, so_far, operands.back(), true, count);
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(
      static_cast<int64_t>(state.iterations() * (operand_count + 1) * out.size()));
}

void add_rows() {
  const auto sizes = [](benchmark::internal::Benchmark* row) {
    row->Arg(64 << 10)->Arg(16 << 20)->MinTime(0.05);
  };
  sizes(benchmark::RegisterBenchmark("copy", measure_copy));
  for (int t = 0; t < kDataTypeCount; ++t) {
    const auto type = static_cast<DataType>(t);
    for (int k = 0; k < kReduceKindCount; ++k) {
      const auto kind = static_cast<ReduceKind>(k);
      for (const Shape& shape : kShapes) {
        const bool only_narrow = shape.out == Form::kNarrow && shape.second == Form::kNarrow;
        if (!is_narrow_float(type) && !only_narrow) continue;
        const bool scaled = kind == ReduceKind::kAvg || kind == ReduceKind::kPreMulSum;
        const std::string name = fmt::format("{}/{}/{}", name_of(type), name_of(kind), shape.name);
        sizes(benchmark::RegisterBenchmark(name.c_str(), measure_pair, type, kind, shape, scaled));
      }
    }
    for (const size_t operand_count : {3, 8})
      for (const bool fused : {true, false}) {
        const std::string name = fmt::format("{}/sum/{}-way{}", name_of(type), operand_count,
                                             fused ? "" : " one by one");
        sizes(benchmark::RegisterBenchmark(name.c_str(), measure_many, type, operand_count, fused));
      }
  }
}

// Takes "--target NAME" out of the arguments; false when there is no such target here.
bool choose_target(int& argc, char** argv) {
  if (argc < 3 || std::string_view(argv[1]) != "--target") return true;
  for (const reduce::Target* known : reduce::targets_here()) {
    if (std::string_view(argv[2]) != known->name) continue;
    target = known;
    argv[2] = argv[0];
    for (int i = 2; i <= argc; ++i) argv[i - 2] = argv[i];
    argc -= 2;
    return true;
  }
  fmt::print(stderr, "arithmetic_perf: this processor has no target {}\n", argv[2]);
  return false;
}

}  // namespace
}  // namespace strait

int main(int argc, char** argv) {
  if (!strait::choose_target(argc, argv)) return 2;
  strait::add_rows();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("target", strait::target->name);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
