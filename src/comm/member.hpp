// Member: what a rank tells the others about how to reach it, once all have met. A value that packs
// into bytes; unpacking is safe on any bytes.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace strait {

struct Member {
  std::string domain;                            // equal text, same domain
  std::string device;                            // "a host" or "a GPU", the same for all
  std::string fd_exchange;                       // address of its process, for shared pages
  std::string place;                             // where its process can be called, for meetings
  std::map<std::string, std::string> addresses;  // transport name -> address

  bool operator==(const Member&) const = default;
};

std::vector<std::byte> pack(const Member& member);
Result<Member> unpack_member(std::span<const std::byte> bytes);

}  // namespace strait
