// The server side of the exchange. Everything it knows is guarded by one mutex. A watcher is
// removed only on the reactor's thread (or when the server ends, without the mutex), because
// Reactor::remove() waits for a running call-back, and the call-backs take the mutex; other threads
// shut a socket down and let the reactor find the end.
#include "base/fd_exchange.hpp"

#include <fmt/ranges.h>
#include <sodium.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/fd_exchange_wire.hpp"

namespace strait {
namespace {

using fd_wire::Goodbye;
using fd_wire::Hello;
using fd_wire::Reply;
using fd_wire::Request;
using fd_wire::Side;

constexpr size_t kSecretBytes = 32;
constexpr size_t kStrangersMax = 256;  // clients that have proved nothing yet
constexpr int64_t kStrangerNs = 10'000'000'000;
constexpr int64_t kAcceptPauseNs = 100'000'000;

using MemberKey = std::pair<uint64_t, int64_t>;  // communicator, rank

struct Published {
  UniqueFd fd;
  FdUses uses;
};

struct Member {
  std::vector<std::byte> secret;
  int shelves = 0;
  std::map<std::string, Published> names;
  std::map<std::string, FdShelf::Source> sources;  // by prefix
};

struct Client {
  enum class State { kStranger, kWaiting, kServed, kLost };

  UniqueFd socket;
  State state = State::kStranger;
  int64_t came_ns = 0;
  fd_wire::Nonce nonce{};
  Request request{};

  MemberKey key() const { return {request.comm_key, request.rank}; }
  std::string name() const { return request.name.data(); }
};

class Server final : public FdExchange, public std::enable_shared_from_this<Server> {
 public:
  ~Server() override {
    if (!reactor_) return;
    if (listener_) reactor_->remove(listener_.get());
    std::vector<int> sockets;
    uint64_t timer = 0;
    {
      std::lock_guard lock(mutex_);
      closing_ = true;  // from here on no call-back closes a socket, so no number is used anew
      timer = pause_timer_;
      for (const auto& [fd, client] : clients_) sockets.push_back(fd);
    }
    if (timer != 0) reactor_->cancel(timer);
    for (const int fd : sockets) reactor_->remove(fd);
  }

  Status start() {
    STRAIT_ASSIGN(reactor_, Reactor::get());
    std::array<unsigned char, 16> random{};
    randombytes_buf(random.data(), random.size());
    address_ = fmt::format("strait-{:02x}", fmt::join(random, ""));
    listener_ = UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener_) return system_error("socket for handing over file descriptors");
    sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
    address_.copy(name.sun_path + 1,
                  sizeof name.sun_path - 1);  // the leading NUL makes it abstract
    const auto length =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + address_.size());
    if (bind(listener_.get(), reinterpret_cast<sockaddr*>(&name), length) != 0)
      return system_error("bind of an abstract Unix socket");
    if (listen(listener_.get(), 4096) != 0) return system_error("listen on a Unix socket");
    return reactor_->add(listener_.get(), EPOLLIN, [this](uint32_t) { accept_clients(); });
  }

  const std::string& address() const override { return address_; }
  Result<std::unique_ptr<FdShelf>> open_shelf(uint64_t comm_key, int rank,
                                              std::span<const std::byte> secret) override;

  Status publish(const MemberKey& key, const std::string& name, UniqueFd fd, FdUses uses) {
    if (name.size() >= fd_wire::kNameBytes)
      return error(Code::kInternalError, "the name {} is too long to be published", name);
    std::lock_guard lock(mutex_);
    auto& names = members_.at(key).names;
    if (!names.try_emplace(name, Published{std::move(fd), uses}).second)
      return error(Code::kInvalidUsage, "rank {} already published {}", key.second, name);
    for (auto& [socket, client] : clients_)
      if (client.state == Client::State::kWaiting && client.key() == key && client.name() == name)
        if (names.contains(name)) serve(client);
    return Status();
  }

  void withdraw(const MemberKey& key, const std::string& name) {
    std::lock_guard lock(mutex_);
    members_.at(key).names.erase(name);
  }

  void supply(const MemberKey& key, const std::string& prefix, FdShelf::Source source) {
    std::lock_guard lock(mutex_);
    members_.at(key).sources[prefix] = std::move(source);
  }

  void close_shelf(const MemberKey& key) {
    std::lock_guard lock(mutex_);
    const auto member = members_.find(key);
    if (--member->second.shelves > 0) return;
    members_.erase(member);
    for (auto& [socket, client] : clients_) {
      if (client.state == Client::State::kStranger || client.key() != key) continue;
      fd_wire::send_packet(socket, Goodbye{fd_wire::kGoodbye});
      shutdown(socket, SHUT_RDWR);
    }
  }

 private:
  void accept_clients() {
    std::lock_guard lock(mutex_);
    while (true) {
      UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) pause_accepting();
        return;
      }
      greet(std::move(socket));
    }
  }

  // Out of descriptors or memory: a pending connection would wake the reactor over and over.
  void pause_accepting() {
    reactor_->modify(listener_.get(), 0);
    pause_timer_ = reactor_->schedule(now_ns() + kAcceptPauseNs,
                                      [this] { reactor_->modify(listener_.get(), EPOLLIN); });
  }

  void greet(UniqueFd socket) {
    drop_old_strangers();
    const int fd = socket.get();
    Client client;
    client.socket = std::move(socket);
    client.came_ns = now_ns();
    client.nonce = fd_wire::fresh_nonce();
    if (!fd_wire::send_packet(fd, Hello{fd_wire::kHello, client.nonce})) return;
    clients_.emplace(fd, std::move(client));
    if (!reactor_->add(fd, EPOLLIN, [this, fd](uint32_t) { hear(fd); }).ok()) clients_.erase(fd);
  }

  // A client that proves nothing keeps its place only until somebody else needs it.
  void drop_old_strangers() {
    std::vector<std::pair<int64_t, int>> strangers;
    for (const auto& [fd, client] : clients_)
      if (client.state == Client::State::kStranger) strangers.emplace_back(client.came_ns, fd);
    std::sort(strangers.begin(), strangers.end());
    const int64_t old_ns = now_ns() - kStrangerNs;
    for (size_t i = 0; i < strangers.size(); ++i)
      if (strangers[i].first < old_ns || i + kStrangersMax <= strangers.size())
        drop(strangers[i].second);
  }

  void drop(int fd) {
    reactor_->remove(fd);
    clients_.erase(fd);
  }

  void hear(int fd) {
    std::lock_guard lock(mutex_);
    const auto found = clients_.find(fd);
    if (found == clients_.end() || closing_) return;
    Client& client = found->second;
    Request request{};
    const ssize_t length = fd_wire::receive_packet(fd, request);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // Nothing but one request is ever expected: all else is the end of the line, or a stranger's.
    if (length != sizeof request || client.state != Client::State::kStranger) return drop(fd);
    client.request = request;
    if (!admit(client)) return refuse(fd);
    Member& member = members_.at(client.key());
    for (const auto& [prefix, source] : member.sources)
      if (client.name().starts_with(prefix)) {
        const Result<UniqueFd> made = source(client.name().substr(prefix.size()));
        return made.ok() ? answer(client, member, made->get()) : refuse(fd);
      }
    client.state = Client::State::kWaiting;
    if (member.names.contains(client.name())) serve(client);
  }

  void refuse(int fd) {
    fd_wire::send_packet(fd, Reply{fd_wire::kRefusal, {}});
    drop(fd);
  }

  bool admit(const Client& client) const {
    const Request& request = client.request;
    if (request.magic != fd_wire::kRequest || request.name.back() != '\0') return false;
    const auto member = members_.find(client.key());
    if (member == members_.end()) return false;
    const auto expected =
        fd_wire::prove(member->second.secret, Side::kClient, client.nonce, request);
    return fd_wire::same_proof(expected, request.proof);
  }

  void serve(Client& client) {
    Member& member = members_.at(client.key());
    const auto published = member.names.find(client.name());
    answer(client, member, published->second.fd.get());
    if (published->second.uses == FdUses::kOnce && client.state == Client::State::kServed)
      member.names.erase(published);
  }

  // What could not be sent may be fetched again.
  void answer(Client& client, const Member& member, int descriptor) {
    const Reply reply{fd_wire::kReply,
                      fd_wire::prove(member.secret, Side::kServer, client.nonce, client.request)};
    const bool sent = fd_wire::send_packet(client.socket.get(), reply, descriptor);
    client.state = sent ? Client::State::kServed : Client::State::kLost;
    if (!sent) shutdown(client.socket.get(), SHUT_RDWR);
  }

  std::shared_ptr<Reactor> reactor_;
  std::string address_;
  UniqueFd listener_;
  std::mutex mutex_;  // guards all below
  bool closing_ = false;
  uint64_t pause_timer_ = 0;
  std::map<MemberKey, Member> members_;
  std::unordered_map<int, Client> clients_;
};

class Shelf final : public FdShelf {
 public:
  Shelf(std::shared_ptr<Server> server, MemberKey key) : server_(std::move(server)), key_(key) {}
  ~Shelf() override {
    for (const std::string& name : names_) server_->withdraw(key_, name);
    server_->close_shelf(key_);
  }

  Status publish(const std::string& name, UniqueFd fd, FdUses uses) override {
    STRAIT_TRY(server_->publish(key_, name, std::move(fd), uses));
    std::lock_guard lock(mutex_);
    names_.push_back(name);
    return Status();
  }

  void supply(const std::string& prefix, Source source) override {
    server_->supply(key_, prefix, std::move(source));
  }

  void withdraw(const std::string& name) override {
    server_->withdraw(key_, name);
    std::lock_guard lock(mutex_);
    std::erase(names_, name);
  }

 private:
  std::shared_ptr<Server> server_;
  MemberKey key_;
  std::mutex mutex_;
  std::vector<std::string> names_;
};

Result<std::unique_ptr<FdShelf>> Server::open_shelf(uint64_t comm_key, int rank,
                                                    std::span<const std::byte> secret) {
  if (secret.size() != kSecretBytes)
    return error(Code::kInternalError, "the secret of a communicator has {} bytes, not {}",
                 kSecretBytes, secret.size());
  const MemberKey key{comm_key, rank};
  std::lock_guard lock(mutex_);
  Member& member = members_[key];
  if (member.shelves == 0) member.secret.assign(secret.begin(), secret.end());
  if (!std::equal(secret.begin(), secret.end(), member.secret.begin()))
    return error(Code::kInvalidUsage,
                 "rank {} of this communicator already exists in this process with another secret",
                 rank);
  ++member.shelves;
  return std::unique_ptr<FdShelf>(std::make_unique<Shelf>(shared_from_this(), key));
}

}  // namespace

Result<std::shared_ptr<FdExchange>> FdExchange::get() {
  if (sodium_init() < 0) return error(Code::kSystemError, "the system gives no random numbers");
  static std::mutex mutex;
  static std::weak_ptr<Server> current;
  static pid_t process = 0;  // that serves it: a forked child inherits the object but no thread
  std::lock_guard lock(mutex);
  if (auto server = current.lock(); server && process == getpid())
    return std::shared_ptr<FdExchange>(server);
  auto server = std::make_shared<Server>();
  STRAIT_TRY(server->start());
  current = server;
  process = getpid();
  return std::shared_ptr<FdExchange>(server);
}

}  // namespace strait
