#include "perf/launch/watcher.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>

#include "base/check.hpp"
#include "perf/exit_code.hpp"

namespace strait::perf {

Watcher::Watcher(std::vector<Connection> connections, int64_t grace_ms)
    : connections_(std::move(connections)), grace_ms_(grace_ms), stop_(::eventfd(0, EFD_CLOEXEC)) {
  STRAIT_CHECK(static_cast<bool>(stop_), "an eventfd is always to be had");
  thread_ = std::thread([this] { watch(); });
}

void Watcher::stop() {
  if (!thread_.joinable()) return;
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
}

bool Watcher::stopped_within(int64_t ms) const {
  pollfd entry{stop_.get(), POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(ms)) > 0;
}

void Watcher::watch() {
  constexpr int kForever = -1;  // stop() is the deadline
  std::vector<pollfd> entries;
  for (const Connection& connection : connections_)
    entries.push_back({connection.fd, POLLRDHUP, 0});
  entries.push_back({stop_.get(), POLLIN, 0});
  for (;;) {
    if (::poll(entries.data(), entries.size(), kForever) < 0) continue;
    if (entries.back().revents != 0) return;
    for (size_t i = 0; i < connections_.size(); ++i) {
      if (entries[i].revents == 0) continue;
      if (stopped_within(grace_ms_)) return;
      std::fprintf(stderr, "# error: process %d ended before the measurement was over\n",
                   connections_[i].rank);
      ::_exit(static_cast<int>(ExitCode::kNcclError));
    }
  }
}

}  // namespace strait::perf
