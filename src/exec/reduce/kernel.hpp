// Kernels of the reductions: one tight loop for each (type, operation, forms), compiled once for
// every instruction set we know (a "target"), and chosen at run time. Owned by exec/; pure
// functions, any thread; finding a kernel costs a few predictable branches. All targets give the
// same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"
#include "exec/reduce.hpp"

namespace strait::reduce {

enum class Operation : uint8_t { kConvert, kSum, kProd, kMax, kMin };

// One operand as a kernel reads it: if it is scaled, every element is multiplied by the factor of
// its kind and rounded to its type, as it would be on its way to another rank.
struct Source {
  const void* data = nullptr;
  bool scaled = false;
  double factor_float = 1.0;
  uint64_t factor_integer = 1;
};

// What a kernel is chosen by. With a single form (see has_wide_form) all three forms are kNarrow. A
// kernel for (kWide, kNarrow) does not exist: every operation commutes, so the caller swaps.
// kConvert has no second operand.
struct KernelKey {
  DataType type;
  Operation operation;
  Form out;
  Form first;
  Form second;
  bool scaled;  // any operand has a factor; sums only
};

using PairKernel = void (*)(void* out, const Source& first, const Source& second, size_t count);
// out = s0 op s1 op ... in this order, all narrow, accumulated wide in registers and written once.
using ManyKernel = void (*)(void* out, const Source* sources, size_t source_count, size_t count);
// In place: every element of an integer type is divided, towards zero.
using DivideKernel = void (*)(void* values, uint64_t divisor, size_t count);

struct Target {
  const char* name;
  PairKernel (*pair)(const KernelKey& key);
  ManyKernel (*many)(DataType type, Operation operation, Form out, bool scaled);
  DivideKernel (*divide)(DataType type);
};

extern const Target kBaseline;
#if defined(__x86_64__)
extern const Target kAvx2;
extern const Target kAvx512;
#endif

// Those this processor runs, fastest first; the last is kBaseline.
std::span<const Target* const> targets_here();

// The functions of exec/reduce.hpp on a target of the caller's choice.
void combine_on(const Target& target, const Arithmetic& arithmetic, const Output& out,
                const Operand& first, const Operand& second, bool finish, size_t count);
void combine_many_on(const Target& target, const Arithmetic& arithmetic, const Output& out,
                     std::span<const Operand> operands, bool finish, size_t count);

}  // namespace strait::reduce
