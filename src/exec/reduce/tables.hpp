// From a KernelKey to a loop: each of the key's run-time values is turned into a template argument,
// one after another. Private to the target_*.cpp files, as lanes.hpp.
#pragma once

#include "exec/reduce/loops.hpp"

namespace strait::reduce::STRAIT_TARGET {
namespace {

template <class N, Operation operation, Form out, Form first, Form second>
PairKernel by_scale([[maybe_unused]] bool scaled) {
  if constexpr (operation == Operation::kSum || operation == Operation::kConvert)
    if (scaled) return &PairLoop<N, Shape<operation, out, first, second, true>>::run;
  return &PairLoop<N, Shape<operation, out, first, second, false>>::run;
}

template <class N, Operation operation, Form out>
PairKernel by_operand_forms(const KernelKey& key) {
  if constexpr (N::kHasWideForm) {
    if (key.first == Form::kWide)
      return by_scale<N, operation, out, Form::kWide, Form::kWide>(key.scaled);
    if (key.second == Form::kWide && operation != Operation::kConvert)
      return by_scale<N, operation, out, Form::kNarrow, Form::kWide>(key.scaled);
  }
  return by_scale<N, operation, out, Form::kNarrow, Form::kNarrow>(key.scaled);
}

template <class N, Operation operation>
PairKernel by_out_form(const KernelKey& key) {
  if constexpr (N::kHasWideForm)
    if (key.out == Form::kWide) return by_operand_forms<N, operation, Form::kWide>(key);
  return by_operand_forms<N, operation, Form::kNarrow>(key);
}

template <class N, Operation operation, Form out>
ManyKernel many_by_scale([[maybe_unused]] bool scaled) {
  if constexpr (operation == Operation::kSum)
    if (scaled) return &ManyLoop<N, operation, out, true>::run;
  return &ManyLoop<N, operation, out, false>::run;
}

template <class N, Operation operation>
ManyKernel many_by_out_form(Form out, bool scaled) {
  if constexpr (N::kHasWideForm)
    if (out == Form::kWide) return many_by_scale<N, operation, Form::kWide>(scaled);
  return many_by_scale<N, operation, Form::kNarrow>(scaled);
}

// The kernels of one number type.
template <class N>
struct Kernels {
  static PairKernel pair(const KernelKey& key) {
    switch (key.operation) {
      case Operation::kConvert:
        return by_out_form<N, Operation::kConvert>(key);
      case Operation::kSum:
        return by_out_form<N, Operation::kSum>(key);
      case Operation::kProd:
        return by_out_form<N, Operation::kProd>(key);
      case Operation::kMax:
        return by_out_form<N, Operation::kMax>(key);
      case Operation::kMin:
        return by_out_form<N, Operation::kMin>(key);
    }
    return nullptr;
  }
  static ManyKernel many(Operation operation, Form out, bool scaled) {
    switch (operation) {
      case Operation::kConvert:
        return nullptr;
      case Operation::kSum:
        return many_by_out_form<N, Operation::kSum>(out, scaled);
      case Operation::kProd:
        return many_by_out_form<N, Operation::kProd>(out, scaled);
      case Operation::kMax:
        return many_by_out_form<N, Operation::kMax>(out, scaled);
      case Operation::kMin:
        return many_by_out_form<N, Operation::kMin>(out, scaled);
    }
    return nullptr;
  }
};

template <template <class> class Visitor, class... Args>
auto by_type(DataType type, Args... args) {
  switch (type) {
    case DataType::kInt8:
      return Visitor<Whole<int8_t, uint8_t>>::find(args...);
    case DataType::kUint8:
      return Visitor<Whole<uint8_t, uint8_t>>::find(args...);
    case DataType::kInt32:
      return Visitor<Whole<int32_t, uint32_t>>::find(args...);
    case DataType::kUint32:
      return Visitor<Whole<uint32_t, uint32_t>>::find(args...);
    case DataType::kInt64:
      return Visitor<Whole<int64_t, uint64_t>>::find(args...);
    case DataType::kUint64:
      return Visitor<Whole<uint64_t, uint64_t>>::find(args...);
    case DataType::kFloat16:
      return Visitor<Float16>::find(args...);
    case DataType::kFloat32:
      return Visitor<WholeFloat<float>>::find(args...);
    case DataType::kFloat64:
      return Visitor<WholeFloat<double>>::find(args...);
    case DataType::kBfloat16:
      return Visitor<Bfloat16>::find(args...);
    case DataType::kFloat8e4m3:
      return Visitor<Float8e4m3>::find(args...);
    case DataType::kFloat8e5m2:
      break;
  }
  return Visitor<Float8e5m2>::find(args...);
}

template <class N>
struct FindPair {
  static PairKernel find(const KernelKey& key) { return Kernels<N>::pair(key); }
};
template <class N>
struct FindMany {
  static ManyKernel find(Operation operation, Form out, bool scaled) {
    return Kernels<N>::many(operation, out, scaled);
  }
};
template <class N>
struct FindDivide {
  static DivideKernel find() {
    if constexpr (N::kIsFloat)
      return nullptr;
    else
      return &divide<typename N::Number>;
  }
};

bool all_narrow(const KernelKey& key) {
  return key.out == Form::kNarrow && key.first == Form::kNarrow && key.second == Form::kNarrow;
}

PairKernel find_pair(const KernelKey& key) {
  if (key.type == DataType::kBfloat16 && all_narrow(key)) return Kernels<Bfloat16Only>::pair(key);
  return by_type<FindPair>(key.type, key);
}
ManyKernel find_many(DataType type, Operation operation, Form out, bool scaled) {
  if (type == DataType::kBfloat16 && out == Form::kNarrow)
    return Kernels<Bfloat16Only>::many(operation, out, scaled);
  return by_type<FindMany>(type, operation, out, scaled);
}
DivideKernel find_divide(DataType type) {
  return by_type<FindDivide>(type);
}

}  // namespace
}  // namespace strait::reduce::STRAIT_TARGET
