// Ranks of a bootstrap test: each a thread or a forked process that joins and reports how it went.
// Nothing here is shared between tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "comm/bootstrap.hpp"
#include "comm/bootstrap_root.hpp"

namespace strait {

inline Config loopback_config() {
  Config config;
  config.socket_ifname = "lo";
  config.init_timeout_ms = 10'000;
  return config;
}

inline Hello plain_hello(int rank) {
  Hello hello = make_hello("0.1.0", {{"SLOTS", "4"}, {"ALGO", "auto"}});
  hello.payload = {std::byte(rank), std::byte{7}};
  return hello;
}

using Joined = Result<std::unique_ptr<Bootstrap>>;

// Runs one thread per rank and returns what each of them returned.
inline std::vector<Status> run_ranks(int rank_count, const std::function<Status(int)>& body) {
  std::vector<Status> results(static_cast<size_t>(rank_count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < rank_count; ++rank)
    threads.emplace_back([&, rank] { results[static_cast<size_t>(rank)] = body(rank); });
  for (std::thread& thread : threads) thread.join();
  return results;
}

// The root ends on the reactor's thread, a moment after the last rank has left.
inline bool root_gone(const UniqueId& id) {
  const Deadline deadline = Deadline::after_ms(2'000);
  while (hosts_bootstrap_root(id) && !deadline.passed())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return !hosts_bootstrap_root(id);
}

}  // namespace strait
