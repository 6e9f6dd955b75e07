#include "transport/net/dial.hpp"

#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.hpp"
#include "transport/net/reach.hpp"
#include "transport/net/socket.hpp"

namespace strait::net {
namespace {

constexpr int64_t kStaggerNs = 250'000'000;
constexpr int64_t kAttemptMs = 10'000;

// One address being tried.
struct Attempt {
  Address address;
  Stream fd;
  Deadline limit;
  bool connected = false;
  bool greeted = false;  // the greeting is sent, the answer awaited
  size_t received = 0;
  Answer answer;
  Handshake handshake;
};

// A link-local address means another place on every interface; the peer cannot know which of ours
// leads to it, so each is tried.
std::vector<Address> with_scopes(const std::vector<Address>& candidates) {
  std::vector<Address> result;
  for (const Address& candidate : candidates) {
    if (candidate.family != AF_INET6 || !candidate.link_local() || candidate.scope != 0) {
      result.push_back(candidate);
      continue;
    }
    struct if_nameindex* names = if_nameindex();
    for (auto* entry = names; entry != nullptr && entry->if_index != 0; ++entry) {
      result.push_back(candidate);
      result.back().scope = entry->if_index;
    }
    if (names != nullptr) if_freenameindex(names);
  }
  return result;
}

class Race {
 public:
  Race(const Destination& destination, std::span<const std::byte> secret, Deadline deadline)
      : destination_(destination),
        secret_(secret),
        deadline_(deadline),
        candidates_(with_scopes(destination.candidates)) {}

  Result<Connection> run() {
    while (true) {
      if (next_ < candidates_.size() && (attempts_.empty() || now_ns() >= next_start_ns_)) start();
      expire();
      if (attempts_.empty() && next_ == candidates_.size()) return failure();
      wait();
      for (size_t i = attempts_.size(); i-- > 0;) {
        if (events_[i] == 0 || !advance(attempts_[i])) continue;
        return win(attempts_[i]);
      }
      std::erase_if(attempts_, [](const Attempt& attempt) { return !attempt.fd; });
    }
  }

 private:
  void start() {
    Attempt attempt{
        .address = candidates_[next_++],
        .fd = Stream(),
        .limit = Deadline::at_ns(std::min(deadline_.at_ns(), now_ns() + kAttemptMs * 1'000'000)),
        .answer = {},
        .handshake = {}};
    next_start_ns_ = now_ns() + kStaggerNs;
    if (!within_reach(attempt.address)) return note(attempt, "no loopback address", true);
    Result<UniqueFd> fd = open_socket(attempt.address.family);
    if (!fd.ok()) return note(attempt, fd.status().message(), false);
    Result<Stream> stream = Stream::over(std::move(*fd), Side::kCaller, key_);
    if (!stream.ok()) return note(attempt, stream.status().message(), false);
    attempt.fd = std::move(*stream);
    sockaddr_storage storage;
    const socklen_t length = attempt.address.to(&storage);
    if (connect(attempt.fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 &&
        errno != EINPROGRESS)
      return note_errno(attempt, errno);
    attempts_.push_back(std::move(attempt));
  }

  void wait() {
    int64_t wake_ns = deadline_.at_ns();
    if (next_ < candidates_.size()) wake_ns = std::min(wake_ns, next_start_ns_);
    std::vector<pollfd> polls;
    for (const Attempt& attempt : attempts_) {
      wake_ns = std::min(wake_ns, attempt.limit.at_ns());
      const short events = attempt.connected ? POLLIN : POLLOUT;
      polls.push_back({.fd = attempt.fd.get(), .events = events, .revents = 0});
    }
    poll(polls.data(), polls.size(), attempts_.empty() ? 0 : Deadline::at_ns(wake_ns).left_ms());
    events_.clear();
    for (const pollfd& entry : polls) events_.push_back(entry.revents);
  }

  void expire() {
    for (Attempt& attempt : attempts_)
      if (attempt.limit.passed())
        note(attempt, attempt.connected ? "it does not answer the handshake" : "no answer", false);
    std::erase_if(attempts_, [](const Attempt& attempt) { return !attempt.fd; });
  }

  // True when the handshake is complete. A failed attempt loses its fd.
  bool advance(Attempt& attempt) {
    if (!attempt.connected) {
      int problem = 0;
      socklen_t length = sizeof problem;
      getsockopt(attempt.fd.get(), SOL_SOCKET, SO_ERROR, &problem, &length);
      if (problem != 0)
        note_errno(attempt, problem);
      else
        introduce(attempt);
      return false;
    }
    // An encrypted connection must hear from the other side first.
    if (!attempt.greeted) return greet(attempt), false;
    auto rest = std::as_writable_bytes(std::span(&attempt.answer, 1)).subspan(attempt.received);
    const ssize_t count = attempt.fd.receive(rest);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (count <= 0) {
      note_hung_up(attempt);
      return false;
    }
    attempt.received += static_cast<size_t>(count);
    return attempt.received == sizeof(Answer) && prove(attempt);
  }

  void introduce(Attempt& attempt) {
    Greeting& greeting = attempt.handshake.greeting;
    greeting.service = destination_.service.service;
    greeting.key = destination_.service.key;
    greeting.to = destination_.service.rank;
    greeting.from = destination_.from;
    greeting.note = destination_.note;
    fill_random(greeting.nonce);
    attempt.connected = true;
    tune_socket(attempt.fd.get());
    greet(attempt);
  }

  void greet(Attempt& attempt) {
    const auto bytes = std::as_bytes(std::span(&attempt.handshake.greeting, 1));
    const ssize_t sent = attempt.fd.send(bytes);
    attempt.greeted = sent == static_cast<ssize_t>(bytes.size());
    if (!attempt.greeted && !(sent < 0 && errno == EAGAIN)) note_hung_up(attempt);
  }

  void note_hung_up(Attempt& attempt) {
    const std::string problem = attempt.fd.problem();
    std::string reason = "it closed the connection during the handshake";
    if (!problem.empty()) reason += fmt::format(" ({})", problem);
    if (attempt.fd.encrypted())
      reason += "; call ncclSetEncryption with one key in every process";
    else if (attempt.received == 0)
      reason += "; if it calls ncclSetEncryption, every process must";
    note(attempt, reason, true);
  }

  bool prove(Attempt& attempt) {
    attempt.handshake.answer_nonce = attempt.answer.nonce;
    const Hash expected = handshake_hash(secret_, "listener", attempt.handshake);
    std::string reason;
    if (attempt.answer.verdict == Verdict::kUnknown)
      reason = "its process serves no such communicator (ended, or another program's)";
    else if (attempt.answer.verdict == Verdict::kOtherVersion)
      reason = fmt::format("its process speaks version {} of the handshake, we speak {}",
                           attempt.answer.version, kHandshakeVersion);
    else if (attempt.answer.verdict != Verdict::kGoOn)
      reason = "what listens there is no process of ours";
    else if (!equal_hash(expected, attempt.answer.hash))
      reason = "its process does not know the communicator's secret";
    const Proof proof{handshake_hash(secret_, "caller", attempt.handshake)};
    if (reason.empty() && attempt.fd.send(std::as_bytes(std::span(&proof, 1))) != sizeof proof)
      reason = "it closed the connection during the handshake";
    if (reason.empty()) return true;
    note(attempt, reason, true);
    return false;
  }

  Connection win(Attempt& attempt) {
    Connection result{.fd = std::move(attempt.fd),
                      .local = Address(),
                      .remote = attempt.address,
                      .session = handshake_hash(secret_, "session", attempt.handshake)};
    result.local = local_address(result.fd.get());
    log_info(LogPart::kNet, "connected rank {} to rank {}: local {}, remote {}", destination_.from,
             destination_.service.rank, result.local.text(), result.remote.text());
    return result;
  }

  void note_errno(Attempt& attempt, int number) {
    const bool definite = number == ECONNREFUSED || number == ECONNRESET;
    note(attempt, definite ? "nobody listens there" : std::strerror(number), definite);
  }

  void note(Attempt& attempt, const std::string& reason, bool definite) {
    attempt.fd.reset();
    all_definite_ = all_definite_ && definite;
    reasons_ +=
        fmt::format("{}{} ({})", reasons_.empty() ? "" : ", ", attempt.address.text(), reason);
  }

  Status failure() const {
    if (reasons_.empty()) return error(Code::kRemoteError, "there is no address to connect to");
    return error(all_definite_ ? Code::kRemoteError : Code::kTimeout, "cannot connect to {}{}{}",
                 reasons_, kOneHost ? "; " : "", kOneHost ? kOneHostReason : "");
  }

  const Destination& destination_;
  std::span<const std::byte> secret_;
  Deadline deadline_;
  const std::shared_ptr<const TlsKey> key_ = process_key();
  std::vector<Address> candidates_;
  size_t next_ = 0;
  int64_t next_start_ns_ = 0;
  std::vector<Attempt> attempts_;
  std::vector<short> events_;  // of poll, by attempt
  bool all_definite_ = true;
  std::string reasons_;
};

}  // namespace

Result<Connection> dial(const Destination& destination, std::span<const std::byte> secret,
                        Deadline deadline) {
  return Race(destination, secret, deadline).run();
}

}  // namespace strait::net
