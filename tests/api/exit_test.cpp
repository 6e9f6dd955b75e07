// The end of a process: communicators may be alive then, or be destroyed by its static objects.

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "nccl.h"

namespace strait::test {
namespace {

constexpr unsigned kHangSeconds = 20;

// Made before anything of the library, so it is destroyed after all that is ever destroyed there.
struct Last {
  ncclComm_t comms[2] = {};
  bool destroys = false;
  ~Last() {
    if (!destroys) return;
    for (ncclComm_t comm : comms)
      if (ncclCommDestroy(comm) != ncclSuccess) _exit(4);
  }
} last;

// A child makes two ranks, lets them work, and returns from main. 0 is good, -1 a signal.
int exit_with_communicators(bool destroys) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kHangSeconds);
    mallopt(M_PERTURB, 0xa5);  // freed memory is recognised as such
    last.destroys = destroys;
    if (ncclCommInitAll(last.comms, 2, nullptr) != ncclSuccess) _exit(1);
    static int values[2];
    if (ncclGroupStart() != ncclSuccess) _exit(2);
    for (int i = 0; i < 2; ++i)
      ncclAllReduce(&values[i], &values[i], 1, ncclInt, ncclSum, last.comms[i], nullptr);
    if (ncclGroupEnd() != ncclSuccess) _exit(3);
    std::exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Exit, StaticObjectsMayDestroyCommunicators) {
  EXPECT_EQ(exit_with_communicators(true), 0);
}

TEST(Exit, CommunicatorsMayBeAlive) {
  EXPECT_EQ(exit_with_communicators(false), 0);
}

}  // namespace
}  // namespace strait::test
