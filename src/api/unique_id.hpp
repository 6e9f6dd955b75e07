// Between the 128 bytes of an ncclUniqueId and their meaning, for the calls that take or give one.
// Pure; any thread.
#pragma once

#include <cstring>

#include "comm/unique_id.hpp"
#include "nccl.h"

namespace strait::api {

static_assert(sizeof(ncclUniqueId) == UniqueId::kBytes);

inline ncclUniqueId to_nccl(const UniqueId& id) {
  ncclUniqueId out;
  const UniqueId::Bytes bytes = id.bytes();
  std::memcpy(out.internal, bytes.data(), bytes.size());
  return out;
}

inline Result<UniqueId> from_nccl(const ncclUniqueId& id) {
  UniqueId::Bytes bytes;
  std::memcpy(bytes.data(), id.internal, bytes.size());
  return UniqueId::parse(bytes);
}

}  // namespace strait::api
