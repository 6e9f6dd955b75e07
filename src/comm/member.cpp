#include "comm/member.hpp"

#include <algorithm>

#include "comm/bootstrap_wire.hpp"

namespace strait {

int blocks_beside_each_other(const std::vector<Member>& members) {
  std::map<std::string, uint32_t> ranks_on;
  for (const Member& member : members)
    if (!member.gpu.empty()) ++ranks_on[member.gpu];
  uint32_t least = 0;
  for (const Member& member : members) {
    if (member.gpu.empty()) continue;
    const uint32_t share = std::max(member.gpu_blocks / ranks_on[member.gpu], 1U);
    least = least == 0 ? share : std::min(least, share);
  }
  return static_cast<int>(least);
}

std::vector<std::byte> pack(const Member& member) {
  Packer packer;
  packer.text(member.domain).text(member.device).text(member.fd_exchange).text(member.place);
  packer.text(member.gpu).number(member.gpu_blocks);
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
  member.gpu = unpacker.text();
  member.gpu_blocks = unpacker.number<uint32_t>();
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
