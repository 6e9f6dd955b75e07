// The kernels for processors with AVX-512 (F, BW, DQ, VL: every one since Skylake-SP and Zen 4).
#if defined(__x86_64__)
#define STRAIT_TARGET avx512
#define STRAIT_TARGET_VECTOR_BYTES 64
#define STRAIT_TARGET_AVX512
#include "exec/reduce/tables.hpp"

namespace strait::reduce {

constinit const Target kAvx512 = {"avx512", &avx512::find_pair, &avx512::find_many,
                                  &avx512::find_divide};

}  // namespace strait::reduce
#endif
