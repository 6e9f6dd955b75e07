// Encryption of the TCP connections of this process, by a key that all processes of a job have. Any
// thread; counts for connections that are made afterwards.
#pragma once

#include <string_view>

#include "base/status.hpp"

namespace strait {

// At least kEncryptionKeyBytesMin bytes.
Status set_encryption(std::string_view shared_key);
void clear_encryption();

inline constexpr size_t kEncryptionKeyBytesMin = 32;

}  // namespace strait
