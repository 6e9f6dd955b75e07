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
  std::string gpu;                               // which, equal text, same GPU; empty: none
  uint32_t gpu_blocks = 0;                       // large ones that it runs beside each other
  std::string fd_exchange;                       // address of its process, for shared pages
  std::string place;                             // where its process can be called, for meetings
  std::map<std::string, std::string> addresses;  // transport name -> address

  bool operator==(const Member&) const = default;
};

// Blocks that a kernel of any of them may have, so that those of all ranks on one GPU run beside
// each other; 0 where there is no GPU.
int blocks_beside_each_other(const std::vector<Member>& members);

std::vector<std::byte> pack(const Member& member);
Result<Member> unpack_member(std::span<const std::byte> bytes);

}  // namespace strait
