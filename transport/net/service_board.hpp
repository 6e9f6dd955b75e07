// ServiceBoard: who serves which service of a listener, with which secret. serve() and the end of a
// Registration may come from any thread; look-ups and dispatch come from the reactor's thread. One
// lock, held for map operations only.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "transport/net/listener.hpp"

namespace strait::net {

class ServiceBoard : public std::enable_shared_from_this<ServiceBoard> {
 public:
  Result<std::unique_ptr<Registration>> serve(const ServiceKey& where,
                                              std::span<const std::byte> secret,
                                              CallerHandler handler);
  std::optional<std::vector<std::byte>> secret_of(const ServiceKey& where) const;
  // False when nobody serves it any more.
  bool dispatch(const ServiceKey& where, Caller caller);

 private:
  class Entry;
  struct Row {
    std::vector<std::byte> secret;
    std::shared_ptr<CallerHandler> handler;
  };

  void withdraw(const ServiceKey& where);

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::map<ServiceKey, Row> rows_;
  std::optional<ServiceKey> running_;
  std::thread::id running_thread_;
};

}  // namespace strait::net
