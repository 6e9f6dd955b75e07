#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "bootstrap_ranks.hpp"

namespace strait {
namespace {

using ::testing::HasSubstr;

// Each rank is a process of its own; rank 0's makes the id and hands it round through pipes. The
// parent makes no thread before it forks.
class Family {
 public:
  using Body = std::function<std::string(const UniqueId&, int rank)>;

  Family(int rank_count, Body body) : body_(std::move(body)) {
    std::vector<std::array<int, 2>> id_pipes(static_cast<size_t>(rank_count));
    for (auto& ends : id_pipes) EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    for (int rank = 0; rank < rank_count; ++rank) {
      std::array<int, 2> result{};
      EXPECT_EQ(pipe2(result.data(), O_CLOEXEC), 0);
      const pid_t pid = fork();
      if (pid == 0) run_child(rank, id_pipes, result[1]);
      close(result[1]);
      results_.emplace_back(result[0]);
      pids_.push_back(pid);
    }
    for (auto& ends : id_pipes) {
      close(ends[0]);
      close(ends[1]);
    }
  }

  ~Family() {
    for (pid_t pid : pids_) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }

  void kill_rank(int rank) { kill(pids_[static_cast<size_t>(rank)], SIGKILL); }

  // What the rank's body returned; empty when the process ended without saying anything.
  std::string result(int rank, int64_t ms) {
    std::string text;
    const int fd = results_[static_cast<size_t>(rank)].get();
    const Deadline deadline = Deadline::after_ms(ms);
    char buffer[512];
    while (true) {
      pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
      if (poll(&entry, 1, deadline.left_ms()) <= 0) return text + " (still running)";
      const ssize_t count = read(fd, buffer, sizeof buffer);
      if (count <= 0) return text;
      text.append(buffer, static_cast<size_t>(count));
    }
  }

 private:
  [[noreturn]] void run_child(int rank, const std::vector<std::array<int, 2>>& id_pipes, int out) {
    UniqueId::Bytes bytes{};
    if (rank == 0) {
      bytes = make_unique_id(loopback_config()).value().bytes();
      for (const auto& ends : id_pipes)
        if (write(ends[1], bytes.data(), bytes.size()) < 0) _exit(1);
    } else if (read(id_pipes[static_cast<size_t>(rank)][0], bytes.data(), bytes.size()) !=
               static_cast<ssize_t>(bytes.size())) {
      _exit(1);
    }
    const std::string text = body_(UniqueId::parse(bytes).value(), rank);
    if (write(out, text.data(), text.size()) < 0) _exit(1);
    _exit(0);
  }

  Body body_;
  std::vector<pid_t> pids_;
  std::vector<UniqueFd> results_;
};

std::string text_of(const Status& status) {
  return status.ok() ? "fine" : status.message();
}

Status meet(const UniqueId& id, int rank, int rank_count) {
  STRAIT_ASSIGN(auto bootstrap,
                Bootstrap::join({id, rank, rank_count}, loopback_config(), make_hello("0.1.0", {}),
                                Deadline::after_ms(10'000)));
  const std::byte mine[] = {std::byte(rank)};
  STRAIT_ASSIGN(const auto all, bootstrap->all_gather(mine, Deadline::after_ms(10'000)));
  for (int other = 0; other < rank_count; ++other)
    if (all[static_cast<size_t>(other)] != std::vector<std::byte>{std::byte(other)})
      return error(Code::kInternalError, "wrong bytes of rank {}", other);
  // The root's process must stay until all have left.
  return bootstrap->barrier(Deadline::after_ms(10'000));
}

class BootstrapProcesses : public ::testing::TestWithParam<int> {};

TEST_P(BootstrapProcesses, Meet) {
  const int rank_count = GetParam();
  Family family(rank_count, [rank_count](const UniqueId& id, int rank) {
    const Status status = meet(id, rank, rank_count);
    if (rank == 0) root_gone(id);
    return text_of(status);
  });
  for (int rank = 0; rank < rank_count; ++rank) EXPECT_EQ(family.result(rank, 15'000), "fine");
}

INSTANTIATE_TEST_SUITE_P(RankCounts, BootstrapProcesses, ::testing::Values(2, 3, 5, 9));

TEST(BootstrapProcess, ProcessThatDiesWhileOthersWaitFailsThemPromptly) {
  Family family(4, [](const UniqueId& id, int rank) -> std::string {
    if (rank == 3) std::this_thread::sleep_for(std::chrono::seconds(60));  // never joins
    return text_of(Bootstrap::join({id, rank, 4}, loopback_config(), make_hello("0.1.0", {}),
                                   Deadline::after_ms(60'000))
                       .status());
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  family.kill_rank(1);
  for (int rank : {0, 2})
    EXPECT_THAT(family.result(rank, 3'000),
                ::testing::AllOf(HasSubstr("rank 1 (host"), HasSubstr("ended")));
}

TEST(BootstrapProcess, DeathOfTheRootsProcessIsExplained) {
  Family family(3, [](const UniqueId& id, int rank) -> std::string {
    if (rank == 2) std::this_thread::sleep_for(std::chrono::seconds(60));
    return text_of(Bootstrap::join({id, rank, 3}, loopback_config(), make_hello("0.1.0", {}),
                                   Deadline::after_ms(60'000))
                       .status());
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  family.kill_rank(0);
  EXPECT_THAT(family.result(1, 3'000), HasSubstr("hosts this communicator's bootstrap has ended"));
}

}  // namespace
}  // namespace strait
