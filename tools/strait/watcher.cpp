#include "tools/strait/watcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <set>

#include "tools/strait/mapped_nccl.hpp"
#include "tools/strait/process_family.hpp"

namespace strait::tool {
namespace {

constexpr int kFirstLookMs = 100;
constexpr int kLooksApartMaxMs = 1000;
constexpr int kFirstFreeFd = 3;

UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

void end_process(const UniqueFd& process) {
  syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0);
}

// A number that no standard stream has, even where the caller closed some of those.
UniqueFd above_streams(const UniqueFd& file) {
  return UniqueFd(fcntl(file.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
}

bool becomes_readable(const UniqueFd& file, int timeout_ms) {
  pollfd waiting = {.fd = file.get(), .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, timeout_ms) > 0;
}

// Away from the terminal, the folder and the files of the program; standard error stays.
void detach(std::array<int, 2> kept) {
  setsid();
  std::signal(SIGPIPE, SIG_IGN);
  if (chdir("/") != 0) _exit(1);
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  std::sort(kept.begin(), kept.end());
  unsigned from = kFirstFreeFd;
  for (const int file : kept) {
    const auto number = static_cast<unsigned>(file);
    if (number > from) close_range(from, number - 1, 0);
    from = number + 1;
  }
  close_range(from, ~0U, 0);
}

class Watcher {
 public:
  Watcher(const WatchOrder& order, pid_t program, const UniqueFd& ends)
      : order_(order), program_(program), ends_(ends), mapped_(order.library) {}

  void run() {
    int pause_ms = kFirstLookMs;
    while (!becomes_readable(ends_, pause_ms)) {
      for (const Process& process : family_of(program_)) {
        if (becomes_readable(ends_, 0)) return;
        if (process.pid != getpid()) look(process);
      }
      pause_ms = std::min(pause_ms * 3 / 2, kLooksApartMaxMs);
    }
  }

 private:
  void look(const Process& process) {
    const NcclOfProcess found = mapped_.look(process.pid);
    const std::pair<pid_t, uint64_t> who(process.pid, process.started);
    if (!found.clean()) {
      if (!complained_.insert(who).second) return;
      tell(process, found.complaint(order_.library) + (order_.strict ? "; it is ended now" : ""));
      if (order_.strict) end(process);
    } else if (found.ours && order_.verbose && praised_.insert(who).second) {
      tell(process, fmt::format("has one NCCL, {}", order_.library));
    }
  }

  static void tell(const Process& process, const std::string& what) {
    const std::string line =
        fmt::format("strait: process {} ({}) {}\n", process.pid, process.name, what);
    // Where nobody reads standard error there is nobody to tell.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  }

  // The program, and of its descendants the one that was found: its parent may not pass it on.
  void end(const Process& process) {
    if (process.pid != program_)
      if (const UniqueFd descendant = open_pidfd(process.pid))
        for (const Process& now : family_of(process.pid))
          if (now.pid == process.pid && now.started == process.started) end_process(descendant);
    end_process(ends_);
  }

  const WatchOrder& order_;
  pid_t program_;
  const UniqueFd& ends_;  // readable when the program has ended
  MappedNccl mapped_;
  std::set<std::pair<pid_t, uint64_t>> complained_;
  std::set<std::pair<pid_t, uint64_t>> praised_;
};

}  // namespace

Result<UniqueFd> start_watcher(const WatchOrder& order) {
  const pid_t program = getpid();
  const UniqueFd ends = above_streams(open_pidfd(program));
  if (!ends) return system_error("watching the program needs Linux 5.3 or later; pidfd_open");
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return system_error("watching the program: pipe");
  UniqueFd begun = above_streams(UniqueFd(pipe_ends[0]));
  UniqueFd begins = above_streams(UniqueFd(pipe_ends[1]));
  if (!begun || !begins) return system_error("watching the program: dup");
  const pid_t between = fork();
  if (between < 0) return system_error("watching the program: fork");
  if (between == 0) {
    detach({ends.get(), begun.get()});
    // Not a child of the program, which may wait for any child of its own.
    if (fork() == 0 && becomes_readable(begun, -1)) Watcher(order, program, ends).run();
    _exit(0);
  }
  while (waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  return begins;
}

}  // namespace strait::tool
