#include "simt/stacks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <vector>

#include "simt/sanitizer.hpp"

namespace strait::simt {
namespace {

// The address sanitizer puts red zones around each local array.
#if STRAIT_SIMT_ASAN
constexpr size_t kStretch = 2;
#else
constexpr size_t kStretch = 1;
#endif

// Each guarded stack takes two of the 65,530 mappings that Linux grants a process by default.
constexpr size_t kGuardedStacks = 12'000;

struct Pool {
  std::mutex mutex;
  std::map<size_t, std::vector<StackRow>> free;  // by stack_bytes
  size_t guarded = 0;
};

// Never destroyed: a launch may be under way when the process ends.
Pool& pool() {
  static Pool& the_pool = *new Pool;
  return the_pool;
}

}  // namespace

StackRow take_stacks(size_t stack_bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  stack_bytes = (stack_bytes * kStretch + page - 1) / page * page + page;
  Pool& from = pool();
  bool guard = false;
  {
    const std::lock_guard lock(from.mutex);
    auto& rows = from.free[stack_bytes];
    if (!rows.empty()) {
      const StackRow row = rows.back();
      rows.pop_back();
      return row;
    }
    guard = from.guarded < kGuardedStacks;
    if (guard) from.guarded += StackRow::kStacks;
  }
  void* base = mmap(nullptr, stack_bytes * StackRow::kStacks, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return {};
  const StackRow row{static_cast<unsigned char*>(base), stack_bytes};
  // A huge page would touch memory that no stack needs.
  madvise(base, stack_bytes * StackRow::kStacks, MADV_NOHUGEPAGE);
  for (size_t index = 0; guard && index < StackRow::kStacks; ++index) {
    mprotect(row.stack(index), page, PROT_NONE);
  }
  return row;
}

void give_stacks(const StackRow& row) {
  if (row.base == nullptr) return;
  Pool& to = pool();
  const std::lock_guard lock(to.mutex);
  to.free[row.stack_bytes].push_back(row);
}

}  // namespace strait::simt
