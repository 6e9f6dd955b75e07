#include "comm/bootstrap_root.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/reactor.hpp"
#include "comm/bootstrap_members.hpp"
#include "comm/bootstrap_wire.hpp"

namespace strait {
namespace {

constexpr int64_t kUnusedNs = 86'400'000'000'000;  // an id nobody uses is given up after a day
constexpr int64_t kActionMs = 5'000;

class Root : public std::enable_shared_from_this<Root> {
 public:
  Root(const UniqueId& id, std::shared_ptr<net::Listener> listener,
       std::shared_ptr<Reactor> reactor, const Config& config)
      : key_(id.root_key()),
        fixed_(id.fixed_root),
        tombstone_ns_(config.init_timeout_ms * 1'000'000),
        reactor_(std::move(reactor)),
        listener_(std::move(listener)) {}

  ~Root() {
    registration_.reset();
    reactor_->cancel(timer_);
    for (const auto& [fd, guest] : guests_) reactor_->remove(fd);
  }

  Status open(const Secret& secret) {
    STRAIT_ASSIGN(registration_, listener_->serve({key_, net::Service::kBootstrap, 0}, secret,
                                                  [this](net::Caller caller) {
                                                    welcome_guest(std::move(caller));
                                                  }));
    set_timer(now_ns() + kUnusedNs, [this] { finish(); });
    return Status();
  }

  uint64_t key() const { return key_; }
  bool failed() const { return failure_.has_value(); }

 private:
  struct Guest {
    std::unique_ptr<FrameChannel> channel;
    int caller_rank = 0;
    bool joined = false;
    bool left = false;
  };
  using Guests = std::map<int, Guest>;  // by fd

  void welcome_guest(net::Caller caller) {
    const int fd = caller.fd.get();
    Guest& guest = guests_[fd];
    guest.caller_rank = caller.rank;
    guest.channel = std::make_unique<FrameChannel>(std::move(caller.fd), caller.session,
                                                   FrameChannel::End::kRoot);
    if (!reactor_->add(fd, EPOLLIN, [this, fd](uint32_t events) { on_event(fd, events); }).ok())
      guests_.erase(fd);
  }

  void on_event(int fd, uint32_t events) {
    auto place = guests_.find(fd);
    if ((events & EPOLLOUT) != 0 && place != guests_.end()) {
      // A broken connection shows when it is read.
      [[maybe_unused]] const Status flushed = place->second.channel->flush();
      watch(place->second);
    }
    while ((place = guests_.find(fd)) != guests_.end()) {
      Result<std::optional<Frame>> frame = place->second.channel->next();
      if (!frame.ok()) return on_gone(place, frame.status());
      if (!frame->has_value()) return;
      on_frame(place->second, **frame);
    }
  }

  void on_frame(Guest& guest, const Frame& frame) {
    Unpacker reader(frame.body);
    if (frame.type == FrameType::kFail)
      return fail_all(reader.status().at(members_.name(guest.caller_rank)), guest.caller_rank);
    if (frame.type == FrameType::kLeave) return on_leave(guest);
    if (failure_) return on_late(guest, frame.type, reader);
    if (frame.type == FrameType::kJoin && !guest.joined) return on_join(guest, reader);
    if (frame.type == FrameType::kRound && guest.joined && members_.complete())
      return on_round(guest, reader);
    fail_all(error(Code::kInternalError, "{} sent a message of the bootstrap out of turn",
                   members_.name(guest.caller_rank)));
  }

  // Comes after the failure; may be the first to say how many ranks have to be told.
  void on_late(Guest& guest, FrameType type, Unpacker& reader) {
    if (type == FrameType::kJoin) {
      const JoinRequest request = reader.join_request();
      std::vector<int> ranks =
          request.members.empty() ? every_rank(request.rank_count) : request.members;
      if (ranks.size() > to_tell_.size()) to_tell_ = std::move(ranks);
    }
    tell(guest, *failure_);
  }

  void on_join(Guest& guest, Unpacker& reader) {
    JoinRequest request = reader.join_request();
    const int64_t limit_ms = request.limit_ms;
    const bool was_complete = members_.complete();
    Status status =
        reader.ok() && request.rank == guest.caller_rank
            ? members_.join(std::move(request))
            : error(Code::kRemoteError, "rank {} sent an unreadable greeting", guest.caller_rank);
    // Whoever comes to a communicator that works already harms only itself.
    if (!status.ok() && was_complete) return tell(guest, status);
    if (!status.ok()) return fail_all(status);
    guest.joined = true;
    tighten(limit_ms, [this](int64_t limit) { return members_.missing(limit); });
    if (members_.complete()) complete();
  }

  void complete() {
    Packer packer;
    net::Nonce nonce;
    net::fill_random(nonce);
    packer.bytes(nonce);
    for (const auto& [rank, hello] : members_.hellos()) packer.hello(hello);
    end_phase();
    if (fixed_) registration_.reset();  // the next communicator may meet at the same place
    tell_all(FrameType::kWelcome, packer.take());
  }

  void on_round(Guest& guest, Unpacker& reader) {
    const auto number = reader.number<uint32_t>();
    const auto limit_ms = reader.number<int64_t>();
    std::vector<std::byte> bytes = reader.bytes();
    if (!reader.ok() || number != members_.round() ||
        !members_.speak(guest.caller_rank, std::move(bytes)))
      return fail_all(error(Code::kInternalError, "{} sent round {} of the bootstrap, not {}",
                            members_.name(guest.caller_rank), number + 1, members_.round() + 1));
    if (const Status left = members_.check_left(); !left.ok()) return fail_all(left);
    tighten(limit_ms, [this](int64_t limit) { return members_.silent(limit); });
    if (!members_.round_complete()) return;
    Packer packer;
    packer.number<uint32_t>(number);
    for (const auto& [rank, said] : members_.take_round()) packer.bytes(said);
    end_phase();
    tell_all(FrameType::kResult, packer.take());
  }

  void on_leave(Guest& guest) {
    if (!guest.joined || !members_.complete()) return;  // told when the connection closes
    guest.left = true;
    members_.leave(guest.caller_rank);
    told_.insert(guest.caller_rank);  // has no more to learn
    const Status left = members_.check_left();
    if (!failure_ && !left.ok()) fail_all(left);
  }

  void on_gone(Guests::iterator place, const Status& why) {
    const Guest guest = std::move(place->second);
    reactor_->remove(place->first);
    guests_.erase(place);
    if (guest.joined && !guest.left && !failure_)
      fail_all(error(Code::kRemoteError,
                     "{} ended or gave up before it had left the communicator: {}",
                     members_.name(guest.caller_rank), why.message()));
    finish_if_done();
  }

  void fail_all(const Status& why, int told_rank = -1) {
    if (told_rank >= 0) told_.insert(told_rank);
    if (failure_) return;
    failure_ = why;
    to_tell_ = members_.members();
    log_info(LogPart::kBootstrap, "the bootstrap failed: {}", why.message());
    for (Guest* guest : own_process_last()) tell(*guest, why);
    set_timer(now_ns() + tombstone_ns_, [this] { finish(); });
    finish_if_done();
  }

  void tell(Guest& guest, const Status& why) {
    told_.insert(guest.caller_rank);
    Packer packer;
    say(guest, FrameType::kFail, packer.status(why).take());
  }

  void tell_all(FrameType type, const std::vector<std::byte>& body) {
    for (Guest* guest : own_process_last())
      if (guest->joined) say(*guest, type, body);
  }

  // A rank of this process may end it as soon as it knows; by then the others shall know too.
  std::vector<Guest*> own_process_last() {
    std::vector<Guest*> order;
    for (auto& [fd, guest] : guests_) order.push_back(&guest);
    std::stable_partition(order.begin(), order.end(), [this](const Guest* guest) {
      return !guest->joined || members_.hellos().at(guest->caller_rank).pid != getpid();
    });
    return order;
  }

  void say(Guest& guest, FrameType type, std::span<const std::byte> body) {
    if (const Status status = guest.channel->send(type, body); !status.ok())
      log_info(LogPart::kBootstrap, "rank {} cannot be told: {}", guest.caller_rank,
               status.message());
    watch(guest);
  }

  void watch(Guest& guest) {
    reactor_->modify(guest.channel->fd(),
                     guest.channel->wants_write() ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }

  // The earliest limit of those who wait decides for all: whoever leaves first fails the others.
  template <class Verdict>
  void tighten(int64_t limit_ms, Verdict verdict) {
    const int64_t at_ns =
        now_ns() + std::clamp<int64_t>(limit_ms, 0, kUnusedNs / 1'000'000) * 1'000'000;
    if (phase_end_ns_ != 0 && phase_end_ns_ <= at_ns) return;
    phase_end_ns_ = at_ns;
    set_timer(at_ns, [this, limit_ms, verdict] { fail_all(verdict(limit_ms)); });
  }

  void end_phase() {
    phase_end_ns_ = 0;
    reactor_->cancel(timer_);
  }

  void set_timer(int64_t at_ns, std::function<void()> callback) {
    reactor_->cancel(timer_);
    timer_ = reactor_->schedule(at_ns, std::move(callback));
  }

  void finish_if_done() {
    if (!guests_.empty()) return;
    const bool all_told =
        failure_ && !to_tell_.empty() &&
        std::ranges::all_of(to_tell_, [this](int rank) { return told_.contains(rank); });
    if (members_.all_left() || all_told) finish();
  }

  void finish();

  const uint64_t key_;
  const bool fixed_;
  const int64_t tombstone_ns_;
  std::shared_ptr<Reactor> reactor_;
  std::shared_ptr<net::Listener> listener_;
  std::unique_ptr<net::Registration> registration_;
  Guests guests_;
  BootstrapMembers members_;
  std::optional<Status> failure_;
  std::set<int> told_;        // ranks that know of the failure
  std::vector<int> to_tell_;  // ranks that must learn of it, as far as known
  uint64_t timer_ = 0;
  int64_t phase_end_ns_ = 0;
};

// The roots of this process; an entry keeps its root alive.
struct Roots {
  std::mutex mutex;
  std::set<std::shared_ptr<Root>> all;
};

Roots& roots() {
  static Roots& instance = *new Roots();  // the reactor's thread may outlive static objects
  return instance;
}

void drop(const std::shared_ptr<Root>& root) {
  std::lock_guard lock(roots().mutex);
  roots().all.erase(root);
}

// Later, when no call-back of the root is on the stack: the last owner then is the scheduled call.
void Root::finish() {
  reactor_->schedule(now_ns(), [self = shared_from_this()]() mutable {
    drop(self);
    self.reset();
  });
}

// Runs the action on the reactor's thread, where everything of a root happens, and waits for it.
Status on_reactor(Reactor& reactor, std::function<Status()> action) {
  auto promise = std::make_shared<std::promise<Status>>();
  auto result = promise->get_future();
  reactor.schedule(now_ns(),
                   [promise, action = std::move(action)] { promise->set_value(action()); });
  if (result.wait_for(std::chrono::milliseconds(kActionMs)) != std::future_status::ready)
    return error(Code::kTimeout, "the background thread did not answer within {} ms", kActionMs);
  return result.get();
}

// A failed root at the same meeting point makes room for a new attempt.
Status retire_failed(uint64_t key) {
  std::lock_guard lock(roots().mutex);
  std::erase_if(roots().all,
                [key](const auto& root) { return root->key() == key && root->failed(); });
  return Status();
}

}  // namespace

Status start_bootstrap_root(const UniqueId& id, std::shared_ptr<net::Listener> listener,
                            const Config& config) {
  STRAIT_ASSIGN(std::shared_ptr<Reactor> reactor, Reactor::get());
  if (id.fixed_root)
    STRAIT_TRY(on_reactor(*reactor, [key = id.root_key()] { return retire_failed(key); }));
  return on_reactor(*reactor, [id, listener = std::move(listener), reactor, config] {
    auto root = std::make_shared<Root>(id, listener, reactor, config);
    STRAIT_TRY(root->open(id.secret));
    std::lock_guard lock(roots().mutex);
    roots().all.insert(root);
    return Status();
  });
}

bool hosts_bootstrap_root(const UniqueId& id) {
  std::lock_guard lock(roots().mutex);
  return std::any_of(roots().all.begin(), roots().all.end(),
                     [key = id.root_key()](const auto& root) { return root->key() == key; });
}

}  // namespace strait
