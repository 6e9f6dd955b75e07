#include "base/mapped.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace strait {
namespace {

bool has_page(uintptr_t address) {
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  auto* const page = reinterpret_cast<void*>(address / page_bytes * page_bytes);
  return mincore(page, 1, &resident) == 0;
}

}  // namespace

bool is_mapped(const void* begin, size_t bytes) {
  if (bytes == 0) return true;
  const auto first = reinterpret_cast<uintptr_t>(begin);
  return first + bytes > first && has_page(first) && has_page(first + bytes - 1);
}

}  // namespace strait
