// The kernels in 64-byte vectors, for processors with AVX-512 as of Ice Lake (VBMI2).
#if defined(STRAIT_CODEC_HIGHWAY) && defined(__x86_64__)
#define STRAIT_CODEC_TARGET avx512
#define STRAIT_CODEC_TARGET_NAME "avx512"
#include "codec/simd.hpp"
#endif
