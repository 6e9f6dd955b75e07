#include "perf/device/nccl_library.hpp"

#include <dlfcn.h>

namespace strait::device_check {

Result<NcclLibrary> NcclLibrary::open(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return error(Code::kSystemError, "{} cannot be opened: {}", path, dlerror());
  NcclLibrary result;
#define STRAIT_FIND(member, function)                                                          \
  result.member = reinterpret_cast<decltype(result.member)>(dlsym(library, "nccl" #function)); \
  if (result.member == nullptr) return error(Code::kSystemError, "{} has no nccl" #function, path);
  STRAIT_NCCL_CALLS(STRAIT_FIND)
#undef STRAIT_FIND
  return result;
}

Status NcclLibrary::status(ncclResult_t result, const char* call, ncclComm_t comm) const {
  if (result == ncclSuccess) return Status();
  const char* said = last_error(comm);
  return error(static_cast<Code>(result), "{} gave {}: {}", call, static_cast<int>(result),
               said == nullptr ? "" : said);
}

}  // namespace strait::device_check
