// Address: where a socket is, as a value: family, address bytes, port, and the interface of a
// link-local IPv6 address. Prints and parses as people write it ("10.0.0.2:4711",
// "[fd00::2]:4711"). Any thread; no I/O except resolve().
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace strait::net {

struct Address {
  int family = AF_UNSPEC;           // AF_INET or AF_INET6
  std::array<uint8_t, 16> bytes{};  // network order; the first four for AF_INET
  uint16_t port = 0;                // host order
  uint32_t scope = 0;               // interface index, for link-local IPv6 only

  bool operator==(const Address&) const = default;

  // An IPv4 address that arrives mapped into IPv6 (::ffff:a.b.c.d) becomes plain IPv4.
  static std::optional<Address> from(const sockaddr* address);
  // "10.0.0.2:4711" or "[fd00::2]:4711", numbers only.
  static std::optional<Address> parse(std::string_view text);

  socklen_t to(sockaddr_storage* out) const;
  Address with_port(uint16_t new_port) const;
  bool loopback() const;
  bool link_local() const;
  std::string text() const;  // without the port when it is 0
};

// Looks up "host:port" (name or number). An error says which setting held the text.
Result<std::vector<Address>> resolve(const std::string& host_and_port, const char* setting);

// "10.0.0.2:4711, [fd00::2]:4711"
std::string text_of(const std::vector<Address>& addresses);
// Reads what text_of() wrote, up to `most` addresses; empty when one cannot be read.
std::vector<Address> parse_addresses(std::string_view text, size_t most);

}  // namespace strait::net
