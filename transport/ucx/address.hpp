// What the ranks tell each other of their UCX workers, as text that is handed round. UCX parses a
// worker's address without mistrust, so it travels under a seal that only ranks of the communicator
// can make. Values and pure functions; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/net/address.hpp"

namespace strait::ucx {

struct RankAddress {
  std::vector<net::Address> listener;
  std::vector<std::byte> worker;

  bool operator==(const RankAddress&) const = default;
};

std::string format(const RankAddress& address, std::span<const std::byte> secret);
// Nothing where a byte of it cannot be, or where it was not sealed with the secret.
std::optional<RankAddress> parse_address(std::string_view text, std::span<const std::byte> secret);

}  // namespace strait::ucx
