#ifdef STRAIT_WITH_OPENSSL

#include "transport/net/openssl.hpp"

#include <dlfcn.h>

namespace strait::net {
namespace {

Result<OpenSsl> load() {
  void* const crypto = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
  void* const ssl = crypto != nullptr ? dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (ssl == nullptr)
    return error(Code::kSystemError,
                 "encryption needs OpenSSL 3, which cannot be opened: {}; install libssl3",
                 dlerror());
  OpenSsl calls;
  const char* missing = nullptr;
#define STRAIT_CALL(name)                                                  \
  calls.name = reinterpret_cast<decltype(calls.name)>(dlsym(from, #name)); \
  if (calls.name == nullptr) missing = #name;
  void* from = crypto;
  STRAIT_CRYPTO_CALLS(STRAIT_CALL)
  from = ssl;
  STRAIT_SSL_CALLS(STRAIT_CALL)
#undef STRAIT_CALL
  if (missing != nullptr)
    return error(Code::kSystemError, "encryption needs OpenSSL 3; the one here has no {}", missing);
  return calls;
}

}  // namespace

Result<const OpenSsl*> open_ssl() {
  static const Result<OpenSsl> loaded = load();
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace strait::net

#endif  // STRAIT_WITH_OPENSSL
