// A world of ranks for tests: n ranks as n threads of this process, each with its communicator,
// under given settings. The body runs once per rank; the communicators are destroyed when it
// returns.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "nccl.h"

namespace strait::test {

using Settings = std::map<std::string, std::string>;

// Sets environment variables for as long as it lives.
class Environment {
 public:
  explicit Environment(const Settings& settings) : settings_(settings) {
    for (const auto& [name, value] : settings_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& [name, value] : settings_) unsetenv(name.c_str());
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  Settings settings_;
};

// Runs body(rank) on rank_count threads.
inline void on_threads(int rank_count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < rank_count; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

inline void run_world(int rank_count, const Settings& settings,
                      const std::function<void(int, ncclComm_t)>& body) {
  const Environment environment(settings);
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess) << ncclGetLastError(nullptr);
  on_threads(rank_count, [&](int rank) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, rank_count, id, rank), ncclSuccess)
        << ncclGetLastError(nullptr);
    body(rank, comm);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess) << ncclGetLastError(nullptr);
  });
}

}  // namespace strait::test
