#include "transport/child_process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/check.hpp"

namespace strait::test {

void Channel::send(const std::string& text) const {
  STRAIT_CHECK(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) >= 0,
               "the other side of the test is there");
}

std::string Channel::receive() const {
  pollfd wait{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (poll(&wait, 1, 10'000) <= 0) return "";
  std::array<char, 4096> text;
  const ssize_t length = recv(socket_.get(), text.data(), text.size(), 0);
  return length <= 0 ? "" : std::string(text.data(), static_cast<size_t>(length));
}

ChildProcess::ChildProcess(const std::function<int(const Channel& parent)>& body) {
  std::array<int, 2> sockets{};
  STRAIT_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) == 0,
               "a test has sockets");
  UniqueFd mine(sockets[0]);
  UniqueFd theirs(sockets[1]);
  process_ = fork();
  STRAIT_CHECK(process_ >= 0, "a test can fork");
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    mine.reset();
    _exit(body(Channel(std::move(theirs))));
  }
  channel_ = Channel(std::move(mine));
}

ChildProcess::~ChildProcess() {
  if (reaped_) return;
  kill_now();
  exit_code();
}

void ChildProcess::kill_now() {
  kill(process_, SIGKILL);
}

int ChildProcess::exit_code() {
  int status = 0;
  waitpid(process_, &status, 0);
  reaped_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace strait::test
