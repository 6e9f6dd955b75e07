#include "comm/member.hpp"

#include <cstdint>
#include <cstring>

namespace strait {
namespace {

void append(std::vector<std::byte>& bytes, const std::string& text) {
  const auto length = static_cast<uint32_t>(text.size());
  const auto* begin = reinterpret_cast<const std::byte*>(&length);
  bytes.insert(bytes.end(), begin, begin + sizeof length);
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), data, data + text.size());
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }
  Result<std::string> text() {
    uint32_t length = 0;
    if (bytes_.size() < sizeof length) return damaged();
    std::memcpy(&length, bytes_.data(), sizeof length);
    bytes_ = bytes_.subspan(sizeof length);
    if (bytes_.size() < length) return damaged();
    std::string text(reinterpret_cast<const char*>(bytes_.data()), length);
    bytes_ = bytes_.subspan(length);
    return text;
  }

 private:
  static Status damaged() {
    return error(Code::kRemoteError, "a rank described itself in a way this version cannot read");
  }

  std::span<const std::byte> bytes_;
};

}  // namespace

std::vector<std::byte> pack(const Member& member) {
  std::vector<std::byte> bytes;
  append(bytes, member.domain);
  append(bytes, member.fd_exchange);
  for (const auto& [name, address] : member.addresses) {
    append(bytes, name);
    append(bytes, address);
  }
  return bytes;
}

Result<Member> unpack_member(std::span<const std::byte> bytes) {
  Member member;
  Reader reader(bytes);
  STRAIT_ASSIGN(member.domain, reader.text());
  STRAIT_ASSIGN(member.fd_exchange, reader.text());
  while (!reader.empty()) {
    STRAIT_ASSIGN(std::string name, reader.text());
    STRAIT_ASSIGN(member.addresses[name], reader.text());
  }
  return member;
}

}  // namespace strait
