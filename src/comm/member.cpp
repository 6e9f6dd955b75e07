#include "comm/member.hpp"

#include "comm/bootstrap_wire.hpp"

namespace strait {

std::vector<std::byte> pack(const Member& member) {
  Packer packer;
  packer.text(member.domain).text(member.device).text(member.fd_exchange).text(member.place);
  packer.number(static_cast<uint32_t>(member.addresses.size()));
  for (const auto& [name, address] : member.addresses) packer.text(name).text(address);
  return packer.take();
}

Result<Member> unpack_member(std::span<const std::byte> bytes) {
  Member member;
  Unpacker unpacker(bytes);
  member.domain = unpacker.text();
  member.device = unpacker.text();
  member.fd_exchange = unpacker.text();
  member.place = unpacker.text();
  const auto count = unpacker.number<uint32_t>();
  for (uint32_t i = 0; i < count && unpacker.ok(); ++i) {
    const std::string name = unpacker.text();
    member.addresses[name] = unpacker.text();
  }
  if (!unpacker.ok())
    return error(Code::kRemoteError, "a rank described itself in a way this version cannot read");
  return member;
}

}  // namespace strait
