#include "perf/launch/gathering.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "perf/launch/socket.hpp"

namespace strait::perf {
namespace {

constexpr int kAnswerMs = 5'000;

struct Newcomer {
  UniqueFd fd;
  Hello hello{0, 0, 0};
  size_t got = 0;
};

class Gathering {
 public:
  Gathering(int listener, int size)
      : listener_(listener), size_(size), peers_(static_cast<size_t>(size)) {}

  Status run(Deadline deadline) {
    while (joined_ < size_ - 1) {
      if (deadline.passed()) return missing();
      wait_for_news(deadline);
      STRAIT_ASSIGN(UniqueFd fd, accept_one(listener_, Deadline::after_ms(0)));
      if (fd) newcomers_.push_back({std::move(fd)});
      for (Newcomer& newcomer : newcomers_) STRAIT_TRY(listen_to(&newcomer));
      std::erase_if(newcomers_, [](const Newcomer& newcomer) { return !newcomer.fd; });
    }
    return {};
  }

  void answer(const Status& verdict) {
    Answer answer;
    answer.welcome = verdict.ok() ? 1 : 0;
    std::strncpy(answer.reason, verdict.message().c_str(), sizeof(answer.reason) - 1);
    const auto bytes = std::as_bytes(std::span(&answer, 1));
    for (const UniqueFd& peer : peers_)
      // A peer that is gone by now is noticed at the first exchange.
      if (peer) (void)send_all(peer.get(), bytes, Deadline::after_ms(kAnswerMs));
  }

  std::vector<UniqueFd> take_peers() { return std::move(peers_); }

 private:
  void wait_for_news(Deadline deadline) {
    std::vector<pollfd> entries{{listener_, POLLIN, 0}};
    for (const Newcomer& newcomer : newcomers_) entries.push_back({newcomer.fd.get(), POLLIN, 0});
    ::poll(entries.data(), entries.size(), deadline.left_ms());
  }

  // Reads what there is of the hello; closes strangers.
  Status listen_to(Newcomer* newcomer) {
    auto* bytes = reinterpret_cast<std::byte*>(&newcomer->hello);
    const ssize_t got = ::recv(newcomer->fd.get(), bytes + newcomer->got,
                               sizeof(Hello) - newcomer->got, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (got <= 0) {
      newcomer->fd.reset();
      return {};
    }
    newcomer->got += static_cast<size_t>(got);
    if (newcomer->got < sizeof(Hello)) return {};
    return admit(newcomer);
  }

  Status admit(Newcomer* newcomer) {
    const Hello& hello = newcomer->hello;
    if (hello.magic != Hello::kMagic) {
      newcomer->fd.reset();
      return {};
    }
    UniqueFd fd = std::move(newcomer->fd);
    const Hello own{Hello::kMagic, 0, size_};
    if (!send_all(fd.get(), std::as_bytes(std::span(&own, 1)), Deadline::after_ms(0)).ok())
      return {};  // gone already; it is missing then
    if (hello.size != size_ || hello.rank < 1 || hello.rank >= size_) {
      peers_.push_back(std::move(fd));  // so that it hears the reason too
      return error(Code::kInvalidUsage,
                   "process 0 expects {} processes but one came as rank {} of {}; set WORLD_SIZE "
                   "alike everywhere",
                   size_, hello.rank, hello.size);
    }
    UniqueFd& place = peers_[static_cast<size_t>(hello.rank)];
    if (place) {
      peers_.push_back(std::move(fd));
      return error(Code::kInvalidUsage,
                   "two processes came as rank {}; set RANK to a number of its "
                   "own in each",
                   hello.rank);
    }
    place = std::move(fd);
    ++joined_;
    return {};
  }

  Status missing() const {
    std::vector<int> ranks;
    for (int rank = 1; rank < size_; ++rank)
      if (!peers_[static_cast<size_t>(rank)]) ranks.push_back(rank);
    return error(Code::kTimeout, "of {} processes these did not come in time: rank {}", size_,
                 fmt::join(ranks, ", "));
  }

  int listener_;
  int size_;
  int joined_ = 0;
  std::vector<UniqueFd> peers_;
  std::vector<Newcomer> newcomers_;
};

}  // namespace

Result<std::vector<UniqueFd>> gather_processes(int listener, int size, Deadline deadline) {
  Gathering gathering(listener, size);
  const Status verdict = gathering.run(deadline);
  gathering.answer(verdict);
  if (!verdict.ok()) return verdict;
  return gathering.take_peers();
}

}  // namespace strait::perf
