#include "api/other_nccl.hpp"

#include <link.h>

#include <string_view>

#include "base/log.hpp"

namespace strait::api {
namespace {

bool holds_this_code(const dl_phdr_info& object) {
  const auto here = reinterpret_cast<uintptr_t>(&warn_of_other_nccl);
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type == PT_LOAD && here - (object.dlpi_addr + part.p_vaddr) < part.p_memsz)
      return true;
  }
  return false;
}

int collect(dl_phdr_info* object, size_t, void* found) {
  const std::string_view path = object->dlpi_name;
  if (path.substr(path.rfind('/') + 1).starts_with("libnccl.so") && !holds_this_code(*object))
    static_cast<std::vector<std::string>*>(found)->emplace_back(path);
  return 0;
}

}  // namespace

std::vector<std::string> other_nccl_libraries() {
  std::vector<std::string> found;
  dl_iterate_phdr(collect, &found);
  return found;
}

void warn_of_other_nccl() {
  for (const std::string& path : other_nccl_libraries())
    log_warn("{} is loaded too, and calls may go to either library; keep one, as strait exec does",
             path);
}

}  // namespace strait::api
