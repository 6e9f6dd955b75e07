#include "simt/static_shared.hpp"

#include <link.h>

#include <cstdint>

#include "simt/sanitizer.hpp"

namespace strait::simt {
namespace {

bool holds(const dl_phdr_info& module, uintptr_t address) {
  for (size_t at = 0; at < module.dlpi_phnum; ++at) {
    const auto& part = module.dlpi_phdr[at];
    const uintptr_t start = module.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && address >= start && address - start < part.p_memsz) return true;
  }
  return false;
}

int look_into(dl_phdr_info* module, size_t, void* found) {
  if (!holds(*module, reinterpret_cast<uintptr_t>(&find_static_shared))) return 0;
  for (size_t at = 0; at < module->dlpi_phnum; ++at) {
    const auto& part = module->dlpi_phdr[at];
    if (part.p_type != PT_TLS || module->dlpi_tls_data == nullptr) continue;
    auto* data = static_cast<unsigned char*>(module->dlpi_tls_data);
    *static_cast<StaticShared*>(found) = {data + part.p_filesz, part.p_memsz - part.p_filesz};
  }
  return 1;
}

}  // namespace

StaticShared find_static_shared() {
  StaticShared found;
#if defined(__clang__) && STRAIT_SIMT_ASAN
  // Its run-time library is linked statically, and keeps its own variables there.
#else
  dl_iterate_phdr(look_into, &found);
#endif
  return found;
}

}  // namespace strait::simt
