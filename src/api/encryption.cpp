// ncclSetEncryption: the key of all TCP connections that this process makes from now on.

#include "comm/encryption.hpp"

#include <algorithm>
#include <cstring>

#include "api/export.hpp"
#include "api/result.hpp"
#include "nccl.h"

namespace strait::api {
namespace {

Status set_from(const ncclEncryptionConfig_t* config) {
  if (config == nullptr)
    return error(Code::kInvalidArgument,
                 "config is NULL: start from NCCL_ENCRYPTION_CONFIG_INITIALIZER");
  ncclEncryptionConfig_t known{};
  std::memcpy(&known.size, &config->size, sizeof known.size);
  std::memcpy(&known.magic, &config->magic, sizeof known.magic);
  if (known.magic != NCCL_API_MAGIC || known.size < sizeof known)
    return error(Code::kInvalidArgument,
                 "config was not set up (size {}, magic {:#x}): start from "
                 "NCCL_ENCRYPTION_CONFIG_INITIALIZER",
                 known.size, known.magic);
  std::memcpy(&known, config, sizeof known);
  if (known.mode == NCCL_ENCRYPTION_MODE_NONE) {
    clear_encryption();
    return Status();
  }
  if (known.mode != NCCL_ENCRYPTION_MODE_PSK)
    return error(Code::kInvalidArgument,
                 "config.mode is {}: it must be NCCL_ENCRYPTION_MODE_NONE or _PSK", known.mode);
  if (known.psk == nullptr)
    return error(Code::kInvalidArgument, "config.psk is NULL: give a key of at least {} bytes",
                 kEncryptionKeyBytesMin);
  return set_encryption(known.psk);
}

}  // namespace
}  // namespace strait::api

STRAIT_API(ncclResult_t, SetEncryption, (const ncclEncryptionConfig_t* config)) {
  return strait::api::guarded("ncclSetEncryption", [&] { return strait::api::set_from(config); });
}
