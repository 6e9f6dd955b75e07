#include "codec/dispatch.hpp"

#include <atomic>

namespace strait::codec {

#if defined(STRAIT_CODEC_HIGHWAY)
#if defined(__aarch64__)
namespace neon {
extern const Kernels kKernels;
}
#elif defined(__x86_64__)
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
#endif
#endif

namespace {

std::vector<const Kernels*> find_available() {
  std::vector<const Kernels*> found = {&portable_kernels()};
#if defined(STRAIT_CODEC_HIGHWAY)
#if defined(__aarch64__)
  found.push_back(&neon::kKernels);
#elif defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
    found.push_back(&avx2::kKernels);
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi") &&
      __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vpopcntdq") &&
      __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("gfni"))
    found.push_back(&avx512::kKernels);
#endif
#endif
  return found;
}

// Set by force_kernels() alone; partner: kernels() in any thread.
std::atomic<const Kernels*>& chosen() {
  static std::atomic<const Kernels*> kernels{available_kernels().back()};
  return kernels;
}

}  // namespace

const std::vector<const Kernels*>& available_kernels() {
  static const std::vector<const Kernels*> found = find_available();
  return found;
}

const Kernels& kernels() {
  return *chosen().load(std::memory_order_acquire);
}

bool force_kernels(std::string_view name) {
  for (const Kernels* found : available_kernels())
    if (name.empty() ? found == available_kernels().back() : name == found->name) {
      chosen().store(found, std::memory_order_release);
      return true;
    }
  return false;
}

}  // namespace strait::codec
