// The kernels in the vectors that every 64-bit Arm processor has.
#if defined(STRAIT_CODEC_HIGHWAY) && defined(__aarch64__)
#define STRAIT_CODEC_TARGET neon
#define STRAIT_CODEC_TARGET_NAME "neon"
#include "codec/simd_lists.hpp"
#endif
