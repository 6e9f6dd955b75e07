#include "comm/signal_board.hpp"

#include <chrono>
#include <map>

namespace strait {

bool SignalBoard::add(const SignalName& name) {
  if (!shape_.has(name)) return false;
  std::lock_guard lock(mutex_);
  ++counts_[shape_.place(name)];
  changed_.notify_all();
  return true;
}

Status SignalBoard::wait(const std::vector<SignalWait>& waits, Deadline deadline,
                         const std::function<Status(int peer)>& stopped) {
  std::map<size_t, uint64_t> needed;
  for (const SignalWait& wait : waits) needed[shape_.place(wait.signal)] += wait.count;
  std::unique_lock lock(mutex_);
  while (true) {
    const SignalWait* missing = nullptr;
    for (const SignalWait& wait : waits)
      if (counts_[shape_.place(wait.signal)] < needed[shape_.place(wait.signal)]) missing = &wait;
    if (missing == nullptr) break;
    STRAIT_TRY(stopped(missing->signal.peer));
    if (deadline.passed())
      return error(Code::kTimeout,
                   "{} of {} signals {} in context {} have come from rank {}; look at that rank, "
                   "or raise STRAIT_TIMEOUT_MS",
                   counts_[shape_.place(missing->signal)], needed[shape_.place(missing->signal)],
                   missing->signal.index, missing->signal.context, missing->signal.peer);
    changed_.wait_for(lock, std::chrono::nanoseconds(deadline.left_ns()));
  }
  for (const auto& [at, count] : needed) counts_[at] -= count;
  return Status();
}

void SignalBoard::wake() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

}  // namespace strait
