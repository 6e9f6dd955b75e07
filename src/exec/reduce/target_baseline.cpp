// The kernels for any processor of the architecture the library is built for (SSE2, NEON).
#define STRAIT_TARGET baseline
#define STRAIT_TARGET_VECTOR_BYTES 16
#include "exec/reduce/tables.hpp"

namespace strait::reduce {

constinit const Target kBaseline = {"baseline", &baseline::find_pair, &baseline::find_many,
                                    &baseline::find_divide};

}  // namespace strait::reduce
