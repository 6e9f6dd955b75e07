// Every entry point of the stand-in driver, declared once from the two tables, and its number. The
// definitions are in the *_calls.cpp files; they run with the machine's lock held, by door.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/cuda/abi.hpp"

struct CUgraphExec_st;

namespace strait::standin {

using namespace ::strait::cuda;  // the driver's types, by the names of base/cuda/abi.hpp
using GraphExecHandle = CUgraphExec_st*;

#define STRAIT_CUDA_CALL(name, version, parameters) int name parameters;
#include "base/cuda/calls.def"
#include "standin/program.def"
#undef STRAIT_CUDA_CALL

enum class Call : size_t {
#define STRAIT_CUDA_CALL(name, version, parameters) name,
#include "base/cuda/calls.def"
#include "standin/program.def"
#undef STRAIT_CUDA_CALL
  kCount
};

inline constexpr size_t kCallCount = static_cast<size_t>(Call::kCount);

inline constexpr std::array<const char*, kCallCount> kCallNames = {
#define STRAIT_CUDA_CALL(name, version, parameters) #name,
#include "base/cuda/calls.def"
#include "standin/program.def"
#undef STRAIT_CUDA_CALL
};

}  // namespace strait::standin
