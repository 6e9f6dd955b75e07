// Where operands lie changes nothing: tails, odd addresses, output on top of an operand, the
// calling thread's float mode, and many operands in one pass.
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstring>

#include "exec/reduce/kernel.hpp"
#include "exec/reduce_reference.hpp"
#include "exec/reduce_values.hpp"

namespace strait {
namespace {

using reference::bytes_of;

std::vector<char> random_numbers(DataType type, Form form, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<char> numbers(count * bytes_of(type, form));
  reference::fill(numbers, bytes_of(type, form), random);
  return numbers;
}

class ReducePlaces : public testing::TestWithParam<DataType> {
 protected:
  DataType type() const { return GetParam(); }
  std::vector<Form> forms() const {
    if (is_narrow_float(type())) return {Form::kNarrow, Form::kWide};
    return {Form::kNarrow};
  }
};

TEST_P(ReducePlaces, TailsAndOddAddressesGiveTheSameBitsAndNothingElseIsWritten) {
  const Arithmetic arithmetic = make_arithmetic(type(), ReduceKind::kAvg, 3, nullptr);
  constexpr size_t kMost = 150;
  for (const reduce::Target* target : reduce::targets_here())
    for (const Form out_form : forms())
      for (const Form second_form : forms()) {
        const auto first = random_numbers(type(), Form::kNarrow, kMost, 1);
        const auto second = random_numbers(type(), second_form, kMost, 2);
        const size_t out_bytes = bytes_of(type(), out_form);
        std::vector<char> whole(kMost * out_bytes);
        reduce::combine_on(*target, arithmetic, {whole.data(), out_form},
                           {first.data(), Form::kNarrow, true}, {second.data(), second_form, true},
                           true, kMost);
        for (size_t count = 0; count <= kMost; count += count < 70 ? 1 : 13) {
          const size_t shift = 1 + count % 7;
          std::vector<char> odd_first(first.size() + 8);
          std::vector<char> odd_second(second.size() + 8);
          std::vector<char> odd_out(whole.size() + 16, 0x5a);
          std::memcpy(odd_first.data() + shift, first.data(), first.size());
          std::memcpy(odd_second.data() + shift / 2, second.data(), second.size());
          reduce::combine_on(*target, arithmetic, {odd_out.data() + shift, out_form},
                             {odd_first.data() + shift, Form::kNarrow, true},
                             {odd_second.data() + shift / 2, second_form, true}, true, count);
          ASSERT_EQ(std::memcmp(odd_out.data() + shift, whole.data(), count * out_bytes), 0)
              << target->name << " " << count;
          const std::vector<char> untouched(odd_out.size() - shift - count * out_bytes, 0x5a);
          ASSERT_EQ(std::memcmp(odd_out.data() + shift + count * out_bytes, untouched.data(),
                                untouched.size()),
                    0)
              << target->name << " wrote past " << count;
        }
      }
}

TEST_P(ReducePlaces, OutputMayBeEitherOperand) {
  const Arithmetic arithmetic{.type = type()};
  constexpr size_t kCount = 5003;
  for (const Form form : forms()) {
    const auto first = random_numbers(type(), form, kCount, 3);
    const auto second = random_numbers(type(), Form::kNarrow, kCount, 4);
    std::vector<char> expected(first.size());
    combine(arithmetic, {expected.data(), form}, {first.data(), form}, {second.data()}, false,
            kCount);
    std::vector<char> out = first;
    combine(arithmetic, {out.data(), form}, {out.data(), form}, {second.data()}, false, kCount);
    EXPECT_EQ(out, expected);
    out = first;
    combine(arithmetic, {out.data(), form}, {second.data()}, {out.data(), form}, false, kCount);
    EXPECT_EQ(out, expected);
  }
}

TEST_P(ReducePlaces, ALoneOperandIsCopiedAsItIs) {
  constexpr size_t kCount = 1001;
  for (const Form form : forms()) {
    const auto first = random_numbers(type(), form, kCount, 5);
    std::vector<char> out(first.size());
    const Operand marked{first.data(), form, true};  // has_scale is false: the mark means nothing
    combine({.type = type()}, {out.data(), form}, marked, {}, true, kCount);
    EXPECT_EQ(out, first);
  }
}

// The same by hand: one after another into a wide partial sum.
std::vector<char> one_by_one(const reduce::Target& target, const Arithmetic& arithmetic,
                             Form out_form, const std::vector<Operand>& operands, size_t count) {
  std::vector<char> partial(count * 8);
  std::vector<char> out(count * bytes_of(arithmetic.type, out_form));
  const Operand so_far{partial.data(), Form::kWide};
  reduce::combine_on(target, arithmetic, {partial.data(), Form::kWide}, operands[0], operands[1],
                     false, count);
  for (size_t i = 2; i + 1 < operands.size(); ++i)
    reduce::combine_on(target, arithmetic, {partial.data(), Form::kWide}, so_far, operands[i],
                       false, count);
  reduce::combine_on(target, arithmetic, {out.data(), out_form}, so_far, operands.back(), true,
                     count);
  return out;
}

TEST_P(ReducePlaces, ManyAtOnceEqualOneAfterAnother) {
  constexpr size_t kCount = 4999;
  const uint64_t scalar = 3;
  for (int kind = 0; kind < kReduceKindCount; ++kind) {
    const Arithmetic arithmetic =
        make_arithmetic(type(), static_cast<ReduceKind>(kind), 5, &scalar);
    for (const size_t operand_count : {3, 5, 70})
      for (const bool mixed : {false, true}) {
        std::vector<std::vector<char>> data;
        std::vector<Operand> operands;
        for (size_t i = 0; i < operand_count; ++i) {
          const Form form = mixed && i % 3 == 1 ? forms().back() : Form::kNarrow;
          data.push_back(random_numbers(type(), form, kCount, 100 + i));
          operands.push_back({data.back().data(), form, i == 1});
        }
        for (const Form out_form : forms()) {
          const auto expected =
              one_by_one(*reduce::targets_here().back(), arithmetic, out_form, operands, kCount);
          for (const reduce::Target* target : reduce::targets_here()) {
            std::vector<char> out(expected.size());
            reduce::combine_many_on(*target, arithmetic, {out.data(), out_form}, operands, true,
                                    kCount);
            ASSERT_EQ(out, expected) << name_of(arithmetic.kind) << " " << target->name << " "
                                     << operand_count << (mixed ? " mixed" : "");
          }
        }
        // On top of the last operand.
        if (operand_count == 70 || mixed) continue;
        std::vector<char> in_place = data.back();
        operands.back().data = in_place.data();
        combine_many(arithmetic, {in_place.data()}, operands, true, kCount);
        operands.back().data = data.back().data();
        EXPECT_EQ(in_place, one_by_one(*reduce::targets_here().back(), arithmetic, Form::kNarrow,
                                       operands, kCount));
      }
  }
}

std::vector<DataType> all_types() {
  std::vector<DataType> types;
  for (int i = 0; i < kDataTypeCount; ++i) types.push_back(static_cast<DataType>(i));
  return types;
}
INSTANTIATE_TEST_SUITE_P(AllTypes, ReducePlaces, testing::ValuesIn(all_types()),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

#if defined(__x86_64__)
TEST(ReduceMode, FlushToZeroAndRoundingOfTheCallerDoNotMatterAndAreKept) {
  const uint32_t tiny[] = {1, 0x00400000, 0x3f800000};
  const uint32_t other[] = {1, 0x00000001, 0x33800001};
  uint32_t expected[3];
  uint32_t out[3];
  const Arithmetic arithmetic{.type = DataType::kFloat32};
  combine(arithmetic, {expected}, {tiny}, {other}, true, 3);
  const unsigned before = _mm_getcsr();
  const unsigned odd_mode = before | 0x8040 | 0x6000;
  _mm_setcsr(odd_mode);
  combine(arithmetic, {out}, {tiny}, {other}, true, 3);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(std::memcmp(out, expected, sizeof(out)), 0);
  EXPECT_EQ(expected[0], 2u);
  EXPECT_EQ(expected[2], 0x3f800001u);
  EXPECT_EQ(after & ~0x3fu, odd_mode & ~0x3fu);
}
#endif

}  // namespace
}  // namespace strait
