// A system that has no thread left: an error that says so, and no call waits for ever afterwards.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "nccl.h"

namespace strait::test {
namespace {

constexpr uid_t kNobody = 65534;
constexpr unsigned kHangSeconds = 20;

// Threads of this process may be made, or not. The superuser knows no such limit.
void allow_threads(bool allowed) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NPROC, &limit) != 0) _exit(90);
  limit.rlim_cur = allowed ? limit.rlim_max : 0;
  if (setrlimit(RLIMIT_NPROC, &limit) != 0) _exit(91);
}

// The exit code of a child that runs the body; 0 is good, -1 a signal (also when it hangs).
int in_child(int (*body)()) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kHangSeconds);
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(92);
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool says_no_thread() {
  return std::strstr(ncclGetLastError(nullptr), "no thread for") != nullptr;
}

TEST(NoThreads, AGroupOfRanksFailsAndLeavesNothingThatWaits) {
  EXPECT_EQ(in_child([] {
              ncclComm_t comms[3] = {};
              if (ncclCommInitAll(comms, 3, nullptr) != ncclSuccess) return 1;
              const auto add = [&] {
                static int values[3];
                ncclGroupStart();
                for (int i = 0; i < 3; ++i)
                  ncclAllReduce(&values[i], &values[i], 1, ncclInt, ncclSum, comms[i], nullptr);
                return ncclGroupEnd();
              };
              allow_threads(false);
              if (add() != ncclSystemError || !says_no_thread()) return 2;
              allow_threads(true);
              if (add() != ncclSystemError) return 3;
              for (ncclComm_t comm : comms)
                if (ncclCommDestroy(comm) != ncclSuccess) return 4;
              return 0;
            }),
            0);
}

TEST(NoThreads, TheBackgroundThreadIsMissedAndTheSignalsStayAsTheyWere) {
  EXPECT_EQ(in_child([] {
              ncclUniqueId id;
              allow_threads(false);
              if (ncclGetUniqueId(&id) != ncclSystemError || !says_no_thread()) return 1;
              sigset_t blocked;
              sigprocmask(SIG_SETMASK, nullptr, &blocked);
              return sigismember(&blocked, SIGINT) == 0 ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace strait::test
