#include "transport/net/address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace strait::net {
namespace {

constexpr uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, port);
  if (problem != std::errc() || stop != end || port == 0) return std::nullopt;
  return port;
}

// "host:port" or "[host]:port" in its two parts; empty where it is neither.
std::pair<std::string, std::string> split(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  std::string_view host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    return {};
  return {std::string(host), std::string(text.substr(colon + 1))};
}

}  // namespace

std::optional<Address> Address::from(const sockaddr* address) {
  Address result;
  if (address->sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, address, sizeof in);
    result.family = AF_INET;
    std::memcpy(result.bytes.data(), &in.sin_addr, 4);
    result.port = ntohs(in.sin_port);
    return result;
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 in;
  std::memcpy(&in, address, sizeof in);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&in.sin6_addr);
  result.port = ntohs(in.sin6_port);
  if (std::equal(std::begin(kMappedPrefix), std::end(kMappedPrefix), bytes)) {
    result.family = AF_INET;
    std::memcpy(result.bytes.data(), bytes + 12, 4);
    return result;
  }
  result.family = AF_INET6;
  std::memcpy(result.bytes.data(), bytes, 16);
  if (result.link_local()) result.scope = in.sin6_scope_id;
  return result;
}

std::optional<Address> Address::parse(std::string_view text) {
  const auto [host, port_text] = split(text);
  const std::optional<uint16_t> port = parse_port(port_text);
  if (!port) return std::nullopt;
  Address result;
  result.port = *port;
  for (int family : {AF_INET, AF_INET6}) {
    result.family = family;
    if (inet_pton(family, host.c_str(), result.bytes.data()) == 1) return result;
  }
  return std::nullopt;
}

socklen_t Address::to(sockaddr_storage* out) const {
  std::memset(out, 0, sizeof *out);
  if (family == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    std::memcpy(&in.sin_addr, bytes.data(), 4);
    std::memcpy(out, &in, sizeof in);
    return sizeof in;
  }
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(port);
  in.sin6_scope_id = scope;
  std::memcpy(&in.sin6_addr, bytes.data(), 16);
  std::memcpy(out, &in, sizeof in);
  return sizeof in;
}

Address Address::with_port(uint16_t new_port) const {
  Address result = *this;
  result.port = new_port;
  return result;
}

bool Address::loopback() const {
  if (family == AF_INET) return bytes[0] == 127;
  return std::all_of(bytes.begin(), bytes.end() - 1, [](uint8_t b) { return b == 0; }) &&
         bytes[15] == 1;
}

bool Address::link_local() const {
  if (family == AF_INET) return bytes[0] == 169 && bytes[1] == 254;
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

std::string Address::text() const {
  char host[INET6_ADDRSTRLEN] = "?";
  if (family != AF_UNSPEC) inet_ntop(family, bytes.data(), host, sizeof host);
  if (port == 0) return host;
  return family == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<std::vector<Address>> resolve(const std::string& host_and_port, const char* setting) {
  if (const std::optional<Address> numeric = Address::parse(host_and_port))
    return std::vector<Address>{*numeric};
  const auto [host, port_text] = split(host_and_port);
  const std::optional<uint16_t> port = parse_port(port_text);
  if (host.empty() || !port)
    return error(Code::kInvalidArgument, "{} is '{}'; write it as host:port or [IPv6 address]:port",
                 setting, host_and_port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int problem = getaddrinfo(host.c_str(), nullptr, &hints, &found); problem != 0)
    return error(Code::kInvalidArgument, "the host '{}' of {} cannot be looked up: {}", host,
                 setting, gai_strerror(problem));
  std::vector<Address> result;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    const auto address = Address::from(entry->ai_addr);
    if (address) result.push_back(address->with_port(*port));
  }
  freeaddrinfo(found);
  return result;
}

std::string text_of(const std::vector<Address>& addresses) {
  std::string result;
  for (const Address& address : addresses) result += (result.empty() ? "" : ", ") + address.text();
  return result;
}

std::vector<Address> parse_addresses(std::string_view text, size_t most) {
  std::vector<Address> result;
  for (size_t begin = 0; begin < text.size() && result.size() < most;) {
    const size_t end = std::min(text.find(", ", begin), text.size());
    const auto address = Address::parse(text.substr(begin, end - begin));
    if (!address) return {};
    result.push_back(*address);
    begin = end + 2;
  }
  return result;
}

}  // namespace strait::net
