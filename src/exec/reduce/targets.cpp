#include <array>

#include "exec/reduce/kernel.hpp"

namespace strait::reduce {
namespace {

#if defined(__x86_64__)
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
}
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

struct TargetList {
  std::array<const Target*, 3> targets{};
  size_t count = 0;

  TargetList() {
#if defined(__x86_64__)
    if (has_avx512()) targets[count++] = &kAvx512;
    if (has_avx2()) targets[count++] = &kAvx2;
#endif
    targets[count++] = &kBaseline;
  }
};

}  // namespace

std::span<const Target* const> targets_here() {
  static const TargetList list;
  return {list.targets.data(), list.count};
}

}  // namespace strait::reduce
