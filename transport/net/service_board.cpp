#include "transport/net/service_board.hpp"

namespace strait::net {

class ServiceBoard::Entry final : public Registration {
 public:
  Entry(std::shared_ptr<ServiceBoard> board, const ServiceKey& where)
      : board_(std::move(board)), where_(where) {}
  ~Entry() override { board_->withdraw(where_); }

 private:
  std::shared_ptr<ServiceBoard> board_;
  ServiceKey where_;
};

Result<std::unique_ptr<Registration>> ServiceBoard::serve(const ServiceKey& where,
                                                          std::span<const std::byte> secret,
                                                          CallerHandler handler) {
  std::lock_guard lock(mutex_);
  const auto [row, added] = rows_.try_emplace(where);
  if (!added)
    return error(Code::kInvalidUsage,
                 "rank {} already serves this communicator in this process; give every rank its "
                 "own number and every communicator its own unique id",
                 where.rank);
  row->second.secret.assign(secret.begin(), secret.end());
  row->second.handler = std::make_shared<CallerHandler>(std::move(handler));
  return std::unique_ptr<Registration>(std::make_unique<Entry>(shared_from_this(), where));
}

std::optional<std::vector<std::byte>> ServiceBoard::secret_of(const ServiceKey& where) const {
  std::lock_guard lock(mutex_);
  const auto row = rows_.find(where);
  if (row == rows_.end()) return std::nullopt;
  return row->second.secret;
}

bool ServiceBoard::dispatch(const ServiceKey& where, Caller caller) {
  std::unique_lock lock(mutex_);
  const auto row = rows_.find(where);
  if (row == rows_.end()) return false;
  auto handler = row->second.handler;
  running_ = where;
  running_thread_ = std::this_thread::get_id();
  lock.unlock();
  (*handler)(std::move(caller));
  handler.reset();
  lock.lock();
  running_.reset();
  idle_.notify_all();
  return true;
}

void ServiceBoard::withdraw(const ServiceKey& where) {
  std::unique_lock lock(mutex_);
  const auto row = rows_.extract(where);  // its captures go after the lock
  if (running_ == where && running_thread_ != std::this_thread::get_id())
    idle_.wait(lock, [&] { return running_ != where; });
  lock.unlock();
}

}  // namespace strait::net
