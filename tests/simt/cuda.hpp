// CUDA C++ for a compiler that knows none: the keywords and builtins of kernels, as the SIMT layer
// runs them on the CPU. Included by force (-include) into every kernel source that g++ compiles
// with STRAIT_SIMT; never by host code, whose headers would trip over the macros. Valid on the
// threads that simt::run makes; outside of them only what needs no other lane works. Indices and
// bit builtins cost nothing to speak of; each other header says what its builtins cost.
//
// Not here: __noinline__, which is an attribute in the standard library's own headers, and
// `extern __shared__`, for which there is strait::device::dynamic_shared().
#pragma once

// The standard headers that kernels use come first, free of the macros below.
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda_atomics.hpp"
#include "cuda_bits.hpp"
#include "cuda_memory.hpp"
#include "cuda_vectors.hpp"
#include "cuda_warp.hpp"
#include "cuda_words.hpp"
#include "here.hpp"
#include "kernel.hpp"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__
// Write `static __constant__ const T name = ...`, which is the same thing in both compilers.
#define __constant__ __attribute__((unused))
// One OS thread carries a block for its whole life, so that what is its own is the block's own. In
// a function it is static too, with the word or without.
#define __shared__ thread_local

#define threadIdx (::strait::simt::thread_place->index)
#define blockIdx (::strait::simt::block_place.index)
#define blockDim (::strait::simt::block_place.block_size)
#define gridDim (::strait::simt::block_place.grid_size)

inline constexpr int warpSize = 32;

#define __builtin_assume(condition) ((void)0)
#define __trap() ::strait::simt::trap()
