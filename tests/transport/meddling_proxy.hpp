// MeddlingProxy: stands between a caller and a listener on the loopback, passes every byte on,
// keeps a copy of all, and may change one bit on the way. For tests of what travels. One thread;
// ends with its owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "transport/net/address.hpp"

namespace strait::net {

class MeddlingProxy {
 public:
  // Leads to the target. `flipped`: which byte from the caller has a bit changed.
  explicit MeddlingProxy(const Address& target, std::optional<uint64_t> flipped = {});
  ~MeddlingProxy();

  Address address() const { return address_; }
  // What has passed so far, both ways.
  std::string seen();

 private:
  void serve();

  const Address target_;
  const std::optional<uint64_t> flipped_;
  Address address_;
  int listening_ = -1;
  std::atomic<bool> ending_{false};  // partner: serve() looks between waits
  std::mutex mutex_;
  std::string seen_;
  std::thread thread_;
};

}  // namespace strait::net
