#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.hpp"
#include "exec/reduce.hpp"
#include "exec/reduce/float_mode.hpp"
#include "exec/reduce/kernel.hpp"

namespace strait {
namespace reduce {
namespace {

constexpr size_t kBlockCount =
    2048;  // elements of a block that is passed over twice; fits the first cache
constexpr size_t kMaxSources = 64;  // operands of one pass; more go block by block

Operation operation_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kProd:
      return Operation::kProd;
    case ReduceKind::kMax:
      return Operation::kMax;
    case ReduceKind::kMin:
      return Operation::kMin;
    case ReduceKind::kSum:
    case ReduceKind::kAvg:
    case ReduceKind::kPreMulSum:
      break;
  }
  return Operation::kSum;
}

bool scales(const Arithmetic& arithmetic, const Operand& operand) {
  return arithmetic.has_scale && operand.scaled;
}

Source source_of(const Arithmetic& arithmetic, const Operand& operand) {
  if (!scales(arithmetic, operand)) return {operand.data};
  return {operand.data, true, arithmetic.scale_float, arithmetic.scale_integer};
}

Form form_of(DataType type, Form form) {
  return is_narrow_float(type) ? form : Form::kNarrow;
}

size_t element_bytes(DataType type, Form form) {
  return form == Form::kWide ? accumulator_size(type) : size_of(type);
}

const void* advance(const void* data, size_t bytes) {
  return static_cast<const char*>(data) + bytes;
}

// What is left to do with a finished value: only integers have something.
bool divides(const Arithmetic& arithmetic, bool finish) {
  return finish && arithmetic.divisor != 1 && !is_float(arithmetic.type);
}

struct PairCall {
  PairKernel kernel;
  void* out;
  Source first;
  Source second;
};

void run_and_divide(const Target& target, const Arithmetic& arithmetic, PairCall call,
                    size_t count) {
  const size_t bytes = size_of(arithmetic.type);
  const DivideKernel divide = target.divide(arithmetic.type);
  while (count > 0) {
    const size_t block = std::min(count, kBlockCount);
    call.kernel(call.out, call.first, call.second, block);
    divide(call.out, arithmetic.divisor, block);
    call.out = static_cast<char*>(call.out) + block * bytes;
    call.first.data = advance(call.first.data, block * bytes);
    if (call.second.data != nullptr) call.second.data = advance(call.second.data, block * bytes);
    count -= block;
  }
}

bool all_narrow(DataType type, std::span<const Operand> operands) {
  return std::ranges::all_of(operands, [type](const Operand& operand) {
    return form_of(type, operand.form) == Form::kNarrow;
  });
}

// The whole row of operands in one pass; a division follows while the block is in the first cache.
void run_many(const Target& target, const Arithmetic& arithmetic, const Output& out,
              std::span<const Operand> operands, bool finish, size_t count) {
  const Form out_form = form_of(arithmetic.type, out.form);
  std::array<Source, kMaxSources> sources;
  bool scaled = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    sources[i] = source_of(arithmetic, operands[i]);
    scaled = scaled || scales(arithmetic, operands[i]);
  }
  const ManyKernel kernel =
      target.many(arithmetic.type, operation_of(arithmetic.kind), out_form, scaled);
  const bool divide = divides(arithmetic, finish);
  const size_t out_bytes = element_bytes(arithmetic.type, out_form);
  const DefaultFloatMode mode;
  auto* written = static_cast<char*>(out.data);
  for (size_t left = count; left > 0;) {
    const size_t block = divide ? std::min(left, kBlockCount) : left;
    kernel(written, sources.data(), operands.size(), block);
    if (divide) target.divide(arithmetic.type)(written, arithmetic.divisor, block);
    written += block * out_bytes;
    for (Source& source : std::span(sources).first(operands.size()))
      source.data = advance(source.data, block * size_of(arithmetic.type));
    left -= block;
  }
}

// One operand after another into a small wide partial sum.
void run_in_blocks(const Target& target, const Arithmetic& arithmetic, const Output& out,
                   std::span<const Operand> operands, bool finish, size_t count) {
  alignas(64) std::array<char, kBlockCount * sizeof(double)> partial;
  const auto at = [&](const Operand& operand, size_t index) {
    Operand part = operand;
    part.data = advance(part.data, index * element_bytes(arithmetic.type, part.form));
    return part;
  };
  const Operand so_far{partial.data(), Form::kWide};
  const Output accumulator{partial.data(), Form::kWide};
  const size_t out_bytes = element_bytes(arithmetic.type, out.form);
  for (size_t index = 0; index < count; index += kBlockCount) {
    const size_t block = std::min(count - index, kBlockCount);
    const Output target_part{static_cast<char*>(out.data) + index * out_bytes, out.form};
    combine_on(target, arithmetic, accumulator, at(operands[0], index), at(operands[1], index),
               false, block);
    for (size_t i = 2; i + 1 < operands.size(); ++i)
      combine_on(target, arithmetic, accumulator, so_far, at(operands[i], index), false, block);
    combine_on(target, arithmetic, target_part, so_far, at(operands.back(), index), finish, block);
  }
}

}  // namespace

void combine_on(const Target& target, const Arithmetic& arithmetic, const Output& out,
                const Operand& first, const Operand& second, bool finish, size_t count) {
  STRAIT_CHECK(first.data != nullptr, "a reduction needs a first operand");
  STRAIT_CHECK(arithmetic.divisor != 0, "an average over no ranks");
  STRAIT_CHECK(!arithmetic.has_scale || operation_of(arithmetic.kind) == Operation::kSum,
               "only sums are scaled");
  if (count == 0) return;
  const DataType type = arithmetic.type;
  const bool binary = second.data != nullptr;
  KernelKey key{type,
                binary ? operation_of(arithmetic.kind) : Operation::kConvert,
                form_of(type, out.form),
                form_of(type, first.form),
                form_of(type, second.form),
                scales(arithmetic, first) || (binary && scales(arithmetic, second))};
  const bool divide = divides(arithmetic, finish);
  if (!binary && !key.scaled && !divide && key.out == key.first) {
    if (out.data != first.data)
      std::memcpy(out.data, first.data, count * element_bytes(type, key.out));
    return;
  }
  PairCall call{nullptr, out.data, source_of(arithmetic, first), source_of(arithmetic, second)};
  if (binary && key.first == Form::kWide && key.second == Form::kNarrow) {
    std::swap(key.first, key.second);
    std::swap(call.first, call.second);
  }
  call.kernel = target.pair(key);
  const DefaultFloatMode mode;
  if (divide)
    run_and_divide(target, arithmetic, call, count);
  else
    call.kernel(call.out, call.first, call.second, count);
}

void combine_many_on(const Target& target, const Arithmetic& arithmetic, const Output& out,
                     std::span<const Operand> operands, bool finish, size_t count) {
  STRAIT_CHECK(!operands.empty(), "a reduction needs a first operand");
  if (operands.size() <= 2) {
    const Operand second = operands.size() == 2 ? operands[1] : Operand{};
    combine_on(target, arithmetic, out, operands[0], second, finish, count);
  } else if (operands.size() <= kMaxSources && all_narrow(arithmetic.type, operands)) {
    run_many(target, arithmetic, out, operands, finish, count);
  } else {
    run_in_blocks(target, arithmetic, out, operands, finish, count);
  }
}

}  // namespace reduce

void combine_many(const Arithmetic& arithmetic, const Output& out,
                  std::span<const Operand> operands, bool finish, size_t count) {
  reduce::combine_many_on(*reduce::targets_here().front(), arithmetic, out, operands, finish,
                          count);
}

void combine(const Arithmetic& arithmetic, const Output& out, const Operand& first,
             const Operand& second, bool finish, size_t count) {
  reduce::combine_on(*reduce::targets_here().front(), arithmetic, out, first, second, finish,
                     count);
}

Arithmetic make_arithmetic(DataType type, ReduceKind kind, int rank_count, const void* scalar) {
  STRAIT_CHECK(rank_count > 0, "a communicator has at least one rank");
  Arithmetic arithmetic;
  arithmetic.type = type;
  arithmetic.kind = kind;
  if (kind == ReduceKind::kAvg) {
    arithmetic.has_scale = is_float(type);
    if (is_float(type))
      arithmetic.scale_float = 1.0 / rank_count;
    else
      arithmetic.divisor = static_cast<uint64_t>(rank_count);
  }
  if (kind != ReduceKind::kPreMulSum) return arithmetic;
  STRAIT_CHECK(scalar != nullptr, "pre-mul-sum needs its scalar");
  arithmetic.has_scale = true;
  if (is_narrow_float(type)) {
    float wide = 0;
    combine({.type = type}, {&wide, Form::kWide}, {scalar, Form::kNarrow}, {}, false, 1);
    arithmetic.scale_float = wide;
  } else if (type == DataType::kFloat32) {
    float value = 0;
    std::memcpy(&value, scalar, sizeof(value));
    arithmetic.scale_float = value;
  } else if (type == DataType::kFloat64) {
    std::memcpy(&arithmetic.scale_float, scalar, sizeof(double));
  } else {
    // The low bytes are enough: products are taken modulo 2^bits.
    arithmetic.scale_integer = 0;
    std::memcpy(&arithmetic.scale_integer, scalar, size_of(type));
  }
  return arithmetic;
}

}  // namespace strait
