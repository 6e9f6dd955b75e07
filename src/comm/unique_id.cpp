#include "comm/unique_id.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "transport/net/handshake.hpp"

namespace strait {
namespace {

constexpr std::array<char, 8> kIdMagic = {'S', 't', 'r', 'a', 'i', 't', 'I', 'd'};
constexpr uint16_t kFormat = 1;

struct PackedAddress {
  uint8_t family = 0;  // 4 or 6
  uint8_t bytes[16] = {};
};

// The 128 bytes as they travel, little-endian.
struct Packed {
  std::array<char, 8> magic = kIdMagic;
  uint16_t format = kFormat;
  uint16_t port = 0;
  uint8_t address_count = 0;
  uint8_t fixed_root = 0;
  uint8_t late_root = 0;
  uint8_t reserved = 0;
  Secret secret{};
  PackedAddress addresses[UniqueId::kAddressesMax];
  uint32_t padding = 0;
  uint64_t checksum = 0;  // over all before it
};
static_assert(sizeof(Packed) == UniqueId::kBytes);

uint64_t first_bytes(const net::Hash& hash) {
  uint64_t value = 0;
  std::memcpy(&value, hash.data(), sizeof value);
  return value;
}

uint64_t checksum_of(const Packed& packed) {
  const std::span<const std::byte> pieces[] = {
      std::as_bytes(std::span(&packed, 1)).first(offsetof(Packed, checksum))};
  return first_bytes(net::keyed_hash({}, "unique id", pieces));
}

}  // namespace

Result<UniqueId> UniqueId::parse(std::span<const std::byte, kBytes> bytes) {
  Packed packed;
  std::memcpy(&packed, bytes.data(), bytes.size());
  if (packed.magic != kIdMagic)
    return error(Code::kInvalidArgument,
                 "the unique id was not made by this library; make it with this library's "
                 "ncclGetUniqueId on one rank and hand it to all others unchanged");
  if (packed.format != kFormat)
    return error(Code::kInvalidArgument,
                 "the unique id has format {}, this library reads format {}; use one version of "
                 "the library on all ranks",
                 packed.format, kFormat);
  if (packed.checksum != checksum_of(packed) || packed.address_count > kAddressesMax)
    return error(Code::kInvalidArgument,
                 "the unique id was damaged on its way from the rank that made it; hand all 128 "
                 "bytes to every rank unchanged");
  UniqueId id;
  id.secret = packed.secret;
  id.fixed_root = packed.fixed_root != 0;
  id.late_root = packed.late_root != 0;
  for (size_t i = 0; i < packed.address_count; ++i) {
    net::Address address{.family = packed.addresses[i].family == 4 ? AF_INET : AF_INET6,
                         .port = packed.port};
    std::memcpy(address.bytes.data(), packed.addresses[i].bytes, address.bytes.size());
    id.addresses.push_back(address);
  }
  return id;
}

UniqueId::Bytes UniqueId::bytes() const {
  Packed packed;
  packed.port = addresses.empty() ? uint16_t{0} : addresses.front().port;
  packed.address_count = static_cast<uint8_t>(std::min(addresses.size(), kAddressesMax));
  packed.fixed_root = fixed_root ? 1 : 0;
  packed.late_root = late_root ? 1 : 0;
  packed.secret = secret;
  for (size_t i = 0; i < packed.address_count; ++i) {
    packed.addresses[i].family = addresses[i].family == AF_INET ? 4 : 6;
    std::memcpy(packed.addresses[i].bytes, addresses[i].bytes.data(), addresses[i].bytes.size());
  }
  packed.checksum = checksum_of(packed);
  Bytes result;
  std::memcpy(result.data(), &packed, result.size());
  return result;
}

Result<UniqueId> UniqueId::from_meeting_point(const std::string& host_and_port) {
  UniqueId id;
  STRAIT_ASSIGN(id.addresses, net::resolve(host_and_port, "STRAIT_COMM_ID (NCCL_COMM_ID)"));
  id.addresses.resize(std::min(id.addresses.size(), kAddressesMax));
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(host_and_port))};
  id.secret = net::keyed_hash({}, "meeting point", pieces);
  id.fixed_root = true;
  return id;
}

UniqueId UniqueId::random(std::vector<net::Address> addresses) {
  UniqueId id;
  addresses.resize(std::min(addresses.size(), kAddressesMax));
  id.addresses = std::move(addresses);
  net::fill_random(id.secret);
  return id;
}

UniqueId UniqueId::derived(const Secret& secret, std::string_view purpose,
                           std::vector<net::Address> addresses) {
  UniqueId id;
  addresses.resize(std::min(addresses.size(), kAddressesMax));
  id.addresses = std::move(addresses);
  id.secret = derive_secret(secret, "further communicator", std::as_bytes(std::span(purpose)));
  id.late_root = true;
  return id;
}

uint64_t UniqueId::root_key() const {
  return first_bytes(derive_secret(secret, "root key"));
}

Secret derive_secret(const Secret& secret, std::string_view label,
                     std::span<const std::byte> context) {
  const std::span<const std::byte> pieces[] = {context};
  return net::keyed_hash(secret, label, pieces);
}

}  // namespace strait
