// Ranks of a test as forked processes. The body says what went wrong by throwing; a child never
// returns into the test. Rank 0 makes the id; all share one page in which they may also leave
// numbers for each other.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "nccl.h"

namespace strait::test {

struct SharedPage {
  static constexpr int kRanksMax = 64;
  std::atomic<int> id_ready{0};  // partner: every rank waits for it
  std::atomic<int> arrived{0};   // partner: meet()
  ncclUniqueId id;
  ncclUniqueId second_id;
  std::atomic<int> second_ready{0};  // partner: whoever waits for second_id
  std::atomic<int64_t> numbers[kRanksMax]{};
  char failures[kRanksMax][600]{};

  static void wait_for(const std::atomic<int>& value, int at_least) {
    for (int i = 0; i < 30'000 && value.load() < at_least; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (value.load() < at_least) throw std::runtime_error("the other processes did not come");
  }
  // Waits until so many have come here, all places together.
  void meet(int total) {
    ++arrived;
    wait_for(arrived, total);
  }
};

inline void need(ncclResult_t result, const char* what, ncclResult_t expected = ncclSuccess) {
  if (result == expected) return;
  throw std::runtime_error(std::string(what) + " returned " + std::to_string(result) + ": " +
                           ncclGetLastError(nullptr));
}
inline void need(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what + "; last error: " + ncclGetLastError(nullptr));
}

class Processes {
 public:
  using Body = std::function<void(int rank, SharedPage& page)>;

  Processes(int rank_count, const Body& body) : rank_count_(rank_count) {
    void* memory = mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    page_ = new (memory) SharedPage;
    for (int rank = 0; rank < rank_count; ++rank) {
      const pid_t pid = fork();
      if (pid == 0) run_child(rank, body);
      pids_.push_back(pid);
    }
  }
  ~Processes() {
    for (const pid_t pid : pids_) {
      if (pid <= 0) continue;
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    munmap(page_, sizeof *page_);
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  SharedPage& page() { return *page_; }
  void kill_rank(int rank) { kill(pids_[static_cast<size_t>(rank)], SIGKILL); }

  // Waits for all that were not killed, and expects that nothing went wrong in them.
  void expect_fine(int64_t limit_ms = 30'000) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
    for (int rank = 0; rank < rank_count_; ++rank) {
      pid_t& pid = pids_[static_cast<size_t>(rank)];
      int status = 0;
      while (waitpid(pid, &status, WNOHANG) == 0 && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) continue;
      EXPECT_STREQ(page_->failures[rank], "") << "rank " << rank;
      EXPECT_TRUE(WIFEXITED(status) && kill(pid, 0) != 0) << "rank " << rank << " did not end well";
      if (kill(pid, 0) != 0) pid = 0;
    }
  }

 private:
  [[noreturn]] void run_child(int rank, const Body& body) {
    try {
      if (rank == 0) {
        need(ncclGetUniqueId(&page_->id), "ncclGetUniqueId");
        page_->id_ready = 1;
      }
      SharedPage::wait_for(page_->id_ready, 1);
      body(rank, *page_);
    } catch (const std::exception& failure) {
      std::strncpy(page_->failures[rank], failure.what(), sizeof page_->failures[rank] - 1);
      _exit(1);
    }
    _exit(0);
  }

  const int rank_count_;
  SharedPage* page_;
  std::vector<pid_t> pids_;
};

}  // namespace strait::test
