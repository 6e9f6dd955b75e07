#include "transport/net/arrivals.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "transport/net/socket.hpp"

namespace strait::net {

Arrivals::Arrivals(std::shared_ptr<Reactor> reactor, std::shared_ptr<ServiceBoard> board)
    : reactor_(std::move(reactor)), board_(std::move(board)) {}

Arrivals::~Arrivals() {
  while (!arrivals_.empty()) take_out(arrivals_.begin());
}

void Arrivals::take(UniqueFd fd) {
  if (arrivals_.size() >= kMost) close(arrivals_.begin(), "too many connections are waiting");
  const uint64_t number = ++last_number_;
  const int raw_fd = fd.get();
  Result<Stream> stream = Stream::over(std::move(fd), Side::kListener, process_key());
  if (!stream.ok()) return log_warn("closed a connection: {}", stream.status().message());
  Arrival& arrival = arrivals_[number];
  arrival.local = local_address(raw_fd);
  arrival.remote = remote_address(raw_fd);
  arrival.fd = std::move(*stream);
  const Status added =
      reactor_->add(raw_fd, EPOLLIN, [this, number](uint32_t) { on_readable(number); });
  if (!added.ok()) {
    arrivals_.erase(number);
    return;
  }
  arrival.timer = reactor_->schedule(now_ns() + kLimitMs * 1'000'000, [this, number] {
    const Place place = arrivals_.find(number);
    if (place != arrivals_.end())
      close(place, fmt::format("it did not prove itself within {} ms", kLimitMs));
  });
}

void Arrivals::on_readable(uint64_t number) {
  Place place = arrivals_.find(number);
  while (place != arrivals_.end() && on_bytes(place)) {
  }
}

bool Arrivals::on_bytes(Place place) {
  Arrival& arrival = place->second;
  Greeting& greeting = arrival.handshake.greeting;
  auto target = arrival.greeted ? std::as_writable_bytes(std::span(&arrival.proof, 1))
                                : std::as_writable_bytes(std::span(&greeting, 1));
  const auto rest = target.subspan(arrival.received);
  // Exactly the message awaited: what follows the proof belongs to the service.
  const ssize_t count = arrival.fd.receive(rest);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {
    const std::string problem = arrival.fd.problem();
    if (!problem.empty()) arrival.fd.discard();  // the caller gets to see TLS's own words
    close(place, problem.empty() ? "it hung up before it had proved itself"
                                 : fmt::format("its encryption is not that of this process ({}): "
                                               "call ncclSetEncryption with one key everywhere",
                                               problem));
    return false;
  }
  arrival.received += static_cast<size_t>(count);
  if (!arrival.greeted) {
    const size_t comparable = std::min(arrival.received, sizeof kMagic);
    if (std::memcmp(target.data(), &kMagic, comparable) != 0) {
      const auto kind = describe_stranger(target.first(arrival.received));
      close(place, fmt::format("it is no process of ours, it sent {}", kind));
      return false;
    }
  }
  if (arrival.received < target.size()) return true;
  arrival.received = 0;
  if (!arrival.greeted) return on_greeting(place);
  on_proof(place);
  return false;
}

bool Arrivals::on_greeting(Place place) {
  Arrival& arrival = place->second;
  const Greeting& greeting = arrival.handshake.greeting;
  if (greeting.version != kHandshakeVersion) {
    refuse(place, Verdict::kOtherVersion,
           fmt::format("it speaks version {} of the handshake, we speak {}", greeting.version,
                       kHandshakeVersion));
    return false;
  }
  auto secret = board_->secret_of({greeting.key, greeting.service, greeting.to});
  if (!secret) {
    refuse(place, Verdict::kUnknown, "it asks for a communicator that is not served here");
    return false;
  }
  arrival.secret = std::move(*secret);
  arrival.greeted = true;
  fill_random(arrival.handshake.answer_nonce);
  Answer answer;
  answer.nonce = arrival.handshake.answer_nonce;
  answer.hash = handshake_hash(arrival.secret, "listener", arrival.handshake);
  if (arrival.fd.send(std::as_bytes(std::span(&answer, 1))) != sizeof answer) {
    close(place, "it does not take our answer");
    return false;
  }
  return true;
}

void Arrivals::on_proof(Place place) {
  const Arrival& waiting = place->second;
  const Hash expected = handshake_hash(waiting.secret, "caller", waiting.handshake);
  if (!equal_hash(expected, waiting.proof.hash)) {
    close(place, "it does not know the communicator's secret");
    return;
  }
  Arrival arrival = take_out(place);
  const Greeting& greeting = arrival.handshake.greeting;
  tune_socket(arrival.fd.get());
  log_info(LogPart::kNet, "accepted a connection of rank {} to rank {}: local {}, remote {}",
           greeting.from, greeting.to, arrival.local.text(), arrival.remote.text());
  const Hash session = handshake_hash(arrival.secret, "session", arrival.handshake);
  board_->dispatch({greeting.key, greeting.service, greeting.to}, {.fd = std::move(arrival.fd),
                                                                   .local = arrival.local,
                                                                   .remote = arrival.remote,
                                                                   .rank = greeting.from,
                                                                   .note = greeting.note,
                                                                   .session = session});
}

void Arrivals::refuse(Place place, Verdict verdict, const std::string& reason) {
  Answer answer;
  answer.verdict = verdict;
  // Best effort: the caller also understands that the connection closes.
  [[maybe_unused]] const ssize_t sent = place->second.fd.send(std::as_bytes(std::span(&answer, 1)));
  close(place, reason);
}

void Arrivals::close(Place place, const std::string& reason) {
  const Arrival arrival = take_out(place);
  log_info(LogPart::kNet, "closed a connection from {} to {}: {}", arrival.remote.text(),
           arrival.local.text(), reason);
}

Arrivals::Arrival Arrivals::take_out(Place place) {
  reactor_->remove(place->second.fd.get());
  reactor_->cancel(place->second.timer);
  Arrival arrival = std::move(place->second);
  arrivals_.erase(place);
  return arrival;
}

}  // namespace strait::net
