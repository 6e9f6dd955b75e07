// How far connections of this build go. With libsodium: anywhere. Without it the handshake's hashes
// are a substitute that nobody has audited, so listeners are at loopback addresses only and other
// addresses are refused. Constants; any thread.
#pragma once

#include "transport/net/address.hpp"

namespace strait::net {

#if defined(STRAIT_ONE_HOST)
inline constexpr bool kOneHost = true;
#else
inline constexpr bool kOneHost = false;
#endif

inline constexpr char kOneHostReason[] =
    "this library was built without libsodium and joins processes of one host only; build it with "
    "libsodium to leave the host";

inline bool within_reach(const Address& address) {
  return !kOneHost || address.loopback();
}

}  // namespace strait::net
