// The kernels for processors with AVX2 and F16C.
#if defined(__x86_64__)
#define STRAIT_TARGET avx2
#define STRAIT_TARGET_VECTOR_BYTES 32
#define STRAIT_TARGET_AVX2
#include "exec/reduce/tables.hpp"

namespace strait::reduce {

constinit const Target kAvx2 = {"avx2", &avx2::find_pair, &avx2::find_many, &avx2::find_divide};

}  // namespace strait::reduce
#endif
