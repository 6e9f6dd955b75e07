#include "comm/encryption.hpp"

#include "transport/net/tls.hpp"

namespace strait {

Status set_encryption(std::string_view shared_key) {
  if (shared_key.size() < kEncryptionKeyBytesMin)
    return error(Code::kInvalidArgument, "the key has {} bytes: give at least {}",
                 shared_key.size(), kEncryptionKeyBytesMin);
  STRAIT_ASSIGN(auto key, net::TlsKey::make(shared_key));
  net::set_process_key(std::move(key));
  return Status();
}

void clear_encryption() {
  net::set_process_key(nullptr);
}

}  // namespace strait
