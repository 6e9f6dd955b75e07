// Every type, operation, form and target against the slow reference, element for element and bit
// for bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "exec/reduce/kernel.hpp"
#include "exec/reduce_reference.hpp"
#include "exec/reduce_values.hpp"

namespace strait {
namespace {

using reference::bytes_of;
using reference::Case;

std::string describe(const Case& c, const reduce::Target& target) {
  return fmt::format("{} {} {} out {} first {}{} second {}{} finish {} target {}",
                     name_of(c.arithmetic.type), name_of(c.arithmetic.kind), c.has_second ? 2 : 1,
                     static_cast<int>(c.out), static_cast<int>(c.first_form),
                     c.first_scaled ? "*" : "", static_cast<int>(c.second_form),
                     c.second_scaled ? "*" : "", c.finish, target.name);
}

struct Buffers {
  std::vector<char> first;
  std::vector<char> second;
};

void expect_as_reference(const Case& c, const Buffers& in, size_t count) {
  const DataType type = c.arithmetic.type;
  const size_t out_bytes = bytes_of(type, c.out);
  std::vector<char> expected(count * out_bytes);
  for (size_t i = 0; i < count; ++i)
    reference::put(
        expected.data(), out_bytes, i,
        reference::combine(c, reference::get(in.first.data(), bytes_of(type, c.first_form), i),
                           reference::get(in.second.data(), bytes_of(type, c.second_form), i)));
  for (const reduce::Target* target : reduce::targets_here()) {
    std::vector<char> out(count * out_bytes, 0x55);
    const Operand second =
        c.has_second ? Operand{in.second.data(), c.second_form, c.second_scaled} : Operand{};
    reduce::combine_on(*target, c.arithmetic, {out.data(), c.out},
                       {in.first.data(), c.first_form, c.first_scaled}, second, c.finish, count);
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(reference::get(out.data(), out_bytes, i),
                reference::get(expected.data(), out_bytes, i))
          << describe(c, *target) << " element " << i << std::hex << " of "
          << reference::get(in.first.data(), bytes_of(type, c.first_form), i) << " and "
          << reference::get(in.second.data(), bytes_of(type, c.second_form), i);
  }
}

std::vector<Form> forms_of(DataType type) {
  if (is_narrow_float(type)) return {Form::kNarrow, Form::kWide};
  return {Form::kNarrow};
}

Arithmetic arithmetic_of(DataType type, ReduceKind kind) {
  uint64_t scalar = 0;
  switch (type) {
    case DataType::kFloat16:
      scalar = reference::encode(type, -1.625);
      break;
    case DataType::kBfloat16:
      scalar = reference::encode(type, 0.3);
      break;
    case DataType::kFloat8e4m3:
      scalar = reference::encode(type, -0.75);
      break;
    case DataType::kFloat8e5m2:
      scalar = reference::encode(type, 1.25);
      break;
    case DataType::kFloat32:
      scalar = 0x3eaaaaab;
      break;
    case DataType::kFloat64:
      scalar = 0xbfd5555555555555;
      break;
    default:
      scalar = ~uint64_t{6};
  }
  return make_arithmetic(type, kind, 7, &scalar);
}

class ReducePairs : public testing::TestWithParam<DataType> {};

TEST_P(ReducePairs, EveryOperationAndFormEqualsTheReference) {
  const DataType type = GetParam();
  std::mt19937_64 random(17);
  constexpr size_t kCount = 700;
  for (int kind = 0; kind < kReduceKindCount; ++kind) {
    Case c;
    c.arithmetic = arithmetic_of(type, static_cast<ReduceKind>(kind));
    for (const Form out : forms_of(type))
      for (const Form first : forms_of(type))
        for (const Form second : forms_of(type))
          for (int flags = 0; flags < 16; ++flags) {
            c.out = out;
            c.first_form = first;
            c.second_form = second;
            c.has_second = (flags & 1) != 0;
            c.first_scaled = (flags & 2) != 0;
            c.second_scaled = (flags & 4) != 0;
            c.finish = (flags & 8) != 0;
            Buffers in{std::vector<char>(kCount * bytes_of(type, first)),
                       std::vector<char>(kCount * bytes_of(type, second))};
            reference::fill(in.first, bytes_of(type, first), random);
            reference::fill(in.second, bytes_of(type, second), random);
            expect_as_reference(c, in, kCount);
            if (HasFatalFailure()) return;
          }
  }
}

std::vector<DataType> all_types() {
  std::vector<DataType> types;
  for (int i = 0; i < kDataTypeCount; ++i) types.push_back(static_cast<DataType>(i));
  return types;
}

INSTANTIATE_TEST_SUITE_P(AllTypes, ReducePairs, testing::ValuesIn(all_types()),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace strait
