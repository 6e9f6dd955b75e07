#include "transport/verbs/calls.hpp"

#include <dlfcn.h>

namespace strait::verbs {
namespace {

constexpr const char* kLibrary = "libibverbs.so.1";

Result<Calls> load() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return error(Code::kSystemError, "{} cannot be opened ({}); install libibverbs1", kLibrary,
                 dlerror());
  Calls calls;
  const char* missing = nullptr;
#define STRAIT_CALL(name)                                                            \
  calls.name = reinterpret_cast<decltype(calls.name)>(dlsym(library, "ibv_" #name)); \
  if (calls.name == nullptr) missing = "ibv_" #name;
  STRAIT_VERBS_CALLS(STRAIT_CALL)
#undef STRAIT_CALL
  if (missing != nullptr)
    return error(Code::kSystemError, "{} is too old: it has no {}", kLibrary, missing);
  calls.reg_dmabuf_mr =
      reinterpret_cast<decltype(calls.reg_dmabuf_mr)>(dlsym(library, "ibv_reg_dmabuf_mr"));
  // Keeps what a device writes out of children. Fails where another user of the library has
  // registered memory already; then it was that user's choice.
  calls.fork_init();
  return calls;
}

}  // namespace

Result<const Calls*> calls() {
  static const Result<Calls> loaded = load();
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace strait::verbs
