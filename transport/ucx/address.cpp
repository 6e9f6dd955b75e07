#include "transport/ucx/address.hpp"

#include <algorithm>
#include <charconv>

#include "transport/net/handshake.hpp"

namespace strait::ucx {
namespace {

constexpr size_t kListenersMax = 16;
constexpr size_t kWorkerBytesMax = 16 << 10;

net::Hash seal_of(std::span<const std::byte> worker, std::span<const std::byte> secret) {
  return net::keyed_hash(secret, "ucx worker", std::span(&worker, 1));
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

bool read_hex(std::string_view text, std::span<std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    unsigned value = 0;
    const char* const begin = text.data() + 2 * i;
    const auto read = std::from_chars(begin, begin + 2, value, 16);
    if (read.ec != std::errc{} || read.ptr != begin + 2) return false;
    bytes[i] = static_cast<std::byte>(value);
  }
  return true;
}

}  // namespace

std::string format(const RankAddress& address, std::span<const std::byte> secret) {
  const std::span listener =
      std::span(address.listener).first(std::min(address.listener.size(), kListenersMax));
  return fmt::format("{}|{}{}", net::text_of({listener.begin(), listener.end()}),
                     hex(seal_of(address.worker, secret)), hex(address.worker));
}

std::optional<RankAddress> parse_address(std::string_view text, std::span<const std::byte> secret) {
  const size_t bar = text.find('|');
  if (bar == text.npos) return std::nullopt;
  RankAddress address;
  address.listener = net::parse_addresses(text.substr(0, bar), kListenersMax);
  const std::string_view coded = text.substr(bar + 1);
  const size_t bytes = coded.size() / 2;
  net::Hash seal;
  if (address.listener.empty() || coded.size() % 2 != 0 || bytes <= seal.size() ||
      bytes > seal.size() + kWorkerBytesMax)
    return std::nullopt;
  address.worker.resize(bytes - seal.size());
  if (!read_hex(coded, seal) || !read_hex(coded.substr(2 * seal.size()), address.worker) ||
      !net::equal_hash(seal, seal_of(address.worker, secret)))
    return std::nullopt;
  return address;
}

}  // namespace strait::ucx
