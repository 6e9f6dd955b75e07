// The kernels in 32-byte vectors, for processors with AVX2.
#if defined(STRAIT_CODEC_HIGHWAY) && defined(__x86_64__)
#define STRAIT_CODEC_TARGET avx2
#define STRAIT_CODEC_TARGET_NAME "avx2"
#include "codec/simd_lists.hpp"
#endif
