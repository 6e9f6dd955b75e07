// STRAIT_SIMT_ASAN: whether the address sanitizer watches this build, which two compilers say in
// two ways. It must be told of stacks that are switched, and needs more room on them.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define STRAIT_SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STRAIT_SIMT_ASAN 1
#endif
#endif

#if !defined(STRAIT_SIMT_ASAN)
#define STRAIT_SIMT_ASAN 0
#endif
