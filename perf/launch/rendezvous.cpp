#include "perf/launch/rendezvous.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "perf/launch/gathering.hpp"
#include "perf/launch/socket.hpp"
#include "perf/launch/watcher.hpp"

namespace strait::perf {
namespace {

constexpr int64_t kHelloMs = 10'000;

class Rendezvous : public Launcher {
 public:
  // peers: by rank at process 0; elsewhere process 0's connection alone.
  Rendezvous(int rank, int size, std::vector<UniqueFd> peers, const RendezvousLimits& limits)
      : rank_(rank), size_(size), peers_(std::move(peers)), limits_(limits) {
    std::vector<Watcher::Connection> watched;
    for (size_t peer = 0; peer < peers_.size(); ++peer)
      if (peers_[peer]) watched.push_back({peers_[peer].get(), static_cast<int>(peer)});
    watcher_.emplace(std::move(watched), limits_.grace_ms);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Status broadcast(std::span<std::byte> bytes) override {
    if (rank_ != 0) return receive_from(0, bytes);
    return send_to_all(bytes);
  }

  Result<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) override {
    std::vector<std::byte> all(mine.size() * static_cast<size_t>(size_));
    if (rank_ != 0) {
      STRAIT_TRY(send_to(0, mine));
      STRAIT_TRY(receive_from(0, all));
      return all;
    }
    std::copy(mine.begin(), mine.end(), all.begin());
    for (int peer = 1; peer < size_; ++peer)
      STRAIT_TRY(receive_from(
          peer, std::span(all).subspan(static_cast<size_t>(peer) * mine.size(), mine.size())));
    STRAIT_TRY(send_to_all(all));
    return all;
  }

  Status barrier() override {
    const std::byte here{1};
    auto all = all_gather(std::span(&here, 1));
    return all.ok() ? Status() : all.status();
  }

  Status finish() override {
    std::byte word{1};
    if (rank_ != 0) {
      STRAIT_TRY(send_to(0, std::span(&word, 1)));
      STRAIT_TRY(receive_from(0, std::span(&word, 1)));
      watcher_->stop();
      return {};
    }
    for (int peer = 1; peer < size_; ++peer) STRAIT_TRY(receive_from(peer, std::span(&word, 1)));
    watcher_->stop();  // from here on they may go
    return send_to_all(std::span(&word, 1));
  }

  // The broken connections tell the others' watchers.
  [[noreturn]] void abort(int code) override { ::_exit(code); }

 private:
  Deadline deadline() const { return Deadline::after_ms(limits_.exchange_ms); }

  Status send_to(int peer, std::span<const std::byte> bytes) {
    return send_all(peers_[static_cast<size_t>(peer)].get(), bytes, deadline())
        .at(fmt::format("process {}", peer));
  }
  Status receive_from(int peer, std::span<std::byte> bytes) {
    return recv_all(peers_[static_cast<size_t>(peer)].get(), bytes, deadline())
        .at(fmt::format("process {}", peer));
  }
  Status send_to_all(std::span<const std::byte> bytes) {
    for (int peer = 1; peer < size_; ++peer) STRAIT_TRY(send_to(peer, bytes));
    return {};
  }

  int rank_, size_;
  std::vector<UniqueFd> peers_;
  RendezvousLimits limits_;
  std::optional<Watcher> watcher_;
};

Result<UniqueFd> join(const LaunchEnvironment& environment, Deadline deadline) {
  STRAIT_ASSIGN(UniqueFd fd, connect_to(environment.address, environment.port, deadline));
  const Hello hello{Hello::kMagic, environment.rank, environment.size};
  STRAIT_TRY(send_all(fd.get(), std::as_bytes(std::span(&hello, 1)), deadline));
  Hello host{0, 0, 0};
  const Status met =
      recv_all(fd.get(), std::as_writable_bytes(std::span(&host, 1)), Deadline::after_ms(kHelloMs));
  if (!met.ok() || host.magic != Hello::kMagic)
    return error(Code::kSystemError,
                 "what listens at {}:{} is not our process 0; set MASTER_PORT to a free port",
                 environment.address, environment.port);
  Answer answer;
  // Process 0 tells who is missing; it may have started later than we did.
  const Deadline patience =
      Deadline::at_ns(deadline.at_ns() + environment.meet_ms * int64_t{1'000'000});
  STRAIT_TRY(recv_all(fd.get(), std::as_writable_bytes(std::span(&answer, 1)), patience)
                 .at("waiting for process 0 to welcome us"));
  answer.reason[sizeof(answer.reason) - 1] = '\0';
  if (answer.welcome != 1) return error(Code::kRemoteError, "{}", std::string(answer.reason));
  return fd;
}

}  // namespace

Result<std::unique_ptr<Launcher>> launch_rendezvous(const LaunchEnvironment& environment,
                                                    const RendezvousLimits& limits) {
  const Deadline deadline = Deadline::after_ms(environment.meet_ms);
  std::vector<UniqueFd> peers;
  if (environment.rank == 0) {
    STRAIT_ASSIGN(const UniqueFd listener, listen_on(environment.port, "MASTER_PORT"));
    STRAIT_ASSIGN(peers, gather_processes(listener.get(), environment.size, deadline));
  } else {
    STRAIT_ASSIGN(UniqueFd fd, join(environment, deadline));
    peers.push_back(std::move(fd));
  }
  return std::unique_ptr<Launcher>(
      std::make_unique<Rendezvous>(environment.rank, environment.size, std::move(peers), limits));
}

}  // namespace strait::perf
