// CUDA's short vectors and dim3, with CUDA's sizes and alignments, and their make_ functions.
// Plain values for any thread; they cost nothing. Kernels see them through cuda.hpp, host code
// that launches kernels through simt.hpp.
#pragma once

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

#define STRAIT_SIMT_VECTORS(name, type, align2, align4)              \
  struct name##1 {                                                   \
    type x;                                                          \
  };                                                                 \
  struct alignas(align2) name##2 {                                   \
    type x, y;                                                       \
  };                                                                 \
  struct name##3 {                                                   \
    type x, y, z;                                                    \
  };                                                                 \
  struct alignas(align4) name##4 {                                   \
    type x, y, z, w;                                                 \
  };                                                                 \
  constexpr name##1 make_##name##1(type x) {                         \
    return {x};                                                      \
  }                                                                  \
  constexpr name##2 make_##name##2(type x, type y) {                 \
    return {x, y};                                                   \
  }                                                                  \
  constexpr name##3 make_##name##3(type x, type y, type z) {         \
    return {x, y, z};                                                \
  }                                                                  \
  constexpr name##4 make_##name##4(type x, type y, type z, type w) { \
    return {x, y, z, w};                                             \
  }                                                                  \
  static_assert(sizeof(name##2) == 2 * sizeof(type) && sizeof(name##4) == 4 * sizeof(type))

STRAIT_SIMT_VECTORS(char, signed char, 2, 4);
STRAIT_SIMT_VECTORS(uchar, unsigned char, 2, 4);
STRAIT_SIMT_VECTORS(short, short, 4, 8);
STRAIT_SIMT_VECTORS(ushort, unsigned short, 4, 8);
STRAIT_SIMT_VECTORS(int, int, 8, 16);
STRAIT_SIMT_VECTORS(uint, unsigned, 8, 16);
STRAIT_SIMT_VECTORS(longlong, long long, 16, 16);
STRAIT_SIMT_VECTORS(ulonglong, unsigned long long, 16, 16);
STRAIT_SIMT_VECTORS(float, float, 8, 16);
STRAIT_SIMT_VECTORS(double, double, 16, 16);

#undef STRAIT_SIMT_VECTORS
