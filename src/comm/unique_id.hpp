// UniqueId: what the 128 bytes of ncclUniqueId mean: where the root of a communicator's bootstrap
// listens, and the random secret by which its ranks know each other. A plain value; any thread.
// make_unique_id() (bootstrap.hpp) makes one and starts its root.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "transport/net/address.hpp"

namespace strait {

using Secret = std::array<std::byte, 32>;

struct UniqueId {
  static constexpr size_t kBytes = 128;
  static constexpr size_t kAddressesMax = 4;
  using Bytes = std::array<std::byte, kBytes>;

  Secret secret{};
  std::vector<net::Address> addresses;  // of the root, all with one port; tried in this order
  bool fixed_root = false;              // made from STRAIT_COMM_ID: rank 0 hosts the root
  bool late_root = false;               // rank 0 hosts the root, and may come after others

  bool operator==(const UniqueId&) const = default;

  // Refuses the id of another library, one of another format version, and a damaged one.
  static Result<UniqueId> parse(std::span<const std::byte, kBytes> bytes);
  // The id for a meeting point that the setting COMM_ID fixes. Its secret follows from the text
  // alone, since every rank must find it without help: such a communicator is only as private as
  // the network it uses.
  static Result<UniqueId> from_meeting_point(const std::string& host_and_port);
  // A new random secret, with the first kAddressesMax of the addresses.
  static UniqueId random(std::vector<net::Address> addresses);
  // The id of a further communicator among ranks that share a secret: equal texts give equal ids,
  // so that nobody has to hand it round. The process at the addresses hosts its root.
  static UniqueId derived(const Secret& secret, std::string_view purpose,
                          std::vector<net::Address> addresses);

  Bytes bytes() const;
  // By which the bootstrap's root is found on its port; says nothing about the secret.
  uint64_t root_key() const;
};

// A keyed hash of the secret for one purpose: different labels or contexts give unrelated keys.
Secret derive_secret(const Secret& secret, std::string_view label,
                     std::span<const std::byte> context = {});

}  // namespace strait
