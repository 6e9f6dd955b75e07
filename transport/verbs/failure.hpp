// What verbs report when a transfer fails, as sentences: cause, place and remedy. Pure functions
// over numbers and names; any thread; only where something has failed.
#pragma once

#include <string>

#include "base/status.hpp"

namespace strait::verbs {

// Where a queue pair goes, in words.
struct Path {
  int peer = 0;
  std::string link;   // "link 0->1 lane 0"
  std::string port;   // "mlx5_0:1"
  std::string local;  // GIDs
  std::string remote;
  std::string kind;  // "RoCE v2 over IPv4"
  int mtu_bytes = 0;
};

// `status` is an ibv_wc_status, `name` libibverbs' name of it; `complaint`, what the device
// has told of itself, or empty.
Status transfer_failed(const Path& path, int status, const std::string& name, uint32_t vendor_code,
                       const std::string& complaint);

}  // namespace strait::verbs
