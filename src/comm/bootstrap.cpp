#include "comm/bootstrap.hpp"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

#include "base/log.hpp"
#include "comm/bootstrap_root.hpp"
#include "comm/bootstrap_wire.hpp"
#include "transport/net/dial.hpp"
#include "transport/net/interfaces.hpp"

namespace strait {
namespace {

// The root decides at the deadline; its verdict, which names the missing ranks, may come this late.
constexpr int64_t kVerdictGraceMs = 1'000;
constexpr int64_t kFarewellMs = 1'000;
constexpr int64_t kReportMs = 5'000;
// A root that is not there yet is called again, soon at first: after an eighth of the time so far.
constexpr int64_t kRedialFirstNs = 500'000;
constexpr int64_t kRedialLastNs = 50'000'000;
// How long a wait may overlook that it was stopped.
constexpr int64_t kStopTurnMs = 20;
constexpr int64_t kStopDialMs = 3'000;

Status stopped() {
  return error(Code::kInvalidUsage, "the communicator was aborted while it was made");
}

Deadline later(Deadline deadline, int64_t ms) {
  return Deadline::at_ns(deadline.at_ns() + ms * 1'000'000);
}

class Member final : public Bootstrap {
 public:
  Member(net::Connection connection, const Meeting& meeting)
      : rank_(meeting.rank),
        rank_count_(meeting.rank_count),
        members_(meeting.members),
        stop_(meeting.stop),
        root_(connection.remote),
        channel_(std::move(connection.fd), connection.session, FrameChannel::End::kRank) {}

  ~Member() override {
    if (failure_.ok()) say_farewell(FrameType::kLeave, {});
  }

  int rank() const override { return rank_; }
  int rank_count() const override { return rank_count_; }
  const std::vector<Hello>& hellos() const override { return hellos_; }
  uint64_t comm_key() const override { return comm_key_; }
  const Secret& transport_secret() const override { return transport_secret_; }

  Status join(const Secret& secret, const Hello& hello, Deadline deadline) {
    Packer packer;
    const auto body = packer
                          .join_request({.rank = rank_,
                                         .rank_count = rank_count_,
                                         .members = members_,
                                         .limit_ms = deadline.left_ms(),
                                         .hello = hello})
                          .take();
    STRAIT_ASSIGN(const Frame frame, ask(FrameType::kJoin, body, FrameType::kWelcome, deadline));
    Unpacker reader(frame.body);
    const std::vector<std::byte> nonce = reader.bytes();
    for (size_t i = 0; i < member_count(); ++i) hellos_.push_back(reader.hello());
    if (!reader.ok()) return unreadable();
    const Secret key = derive_secret(secret, "communicator key", nonce);
    std::memcpy(&comm_key_, key.data(), sizeof comm_key_);
    transport_secret_ = derive_secret(secret, "transports", nonce);
    return Status();
  }

  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> bytes,
                                                         Deadline deadline) override {
    if (bytes.size() > FrameChannel::kBytesMax)
      return error(Code::kInvalidArgument, "{} bytes are too many for one round, {} is the limit",
                   bytes.size(), FrameChannel::kBytesMax);
    Packer packer;
    packer.number<uint32_t>(round_).number<int64_t>(deadline.left_ms()).bytes(bytes);
    const auto body = packer.take();
    STRAIT_ASSIGN(const Frame frame, ask(FrameType::kRound, body, FrameType::kResult, deadline));
    Unpacker reader(frame.body);
    const auto number = reader.number<uint32_t>();
    std::vector<std::vector<std::byte>> result;
    for (size_t i = 0; i < member_count(); ++i) result.push_back(reader.bytes());
    if (!reader.ok() || number != round_) return unreadable();
    ++round_;
    return result;
  }

  Status barrier(Deadline deadline) override { return all_gather({}, deadline).status(); }

  void fail(const Status& why) override {
    if (failure_.ok()) failure_ = why;
    Packer packer;
    say_farewell(FrameType::kFail, packer.status(why).take());
  }

 private:
  size_t member_count() const {
    return members_.empty() ? static_cast<size_t>(rank_count_) : members_.size();
  }

  // Sends a request and waits for the root's answer to it. The first failure stays.
  Result<Frame> ask(FrameType type, std::span<const std::byte> body, FrameType expected,
                    Deadline deadline) {
    if (!failure_.ok()) return failure_;
    // A failed send is told better by what the root may have said before it closed.
    [[maybe_unused]] const Status sent = channel_.send(type, body);
    Result<Frame> frame = await(later(deadline, kVerdictGraceMs));
    if (frame.ok() && frame->type == FrameType::kFail)
      frame = Unpacker(frame->body).status();
    else if (frame.ok() && frame->type != expected)
      frame = unreadable();
    if (!frame.ok() && stop_.stop_requested()) fail(frame.status());
    if (!frame.ok()) failure_ = frame.status();
    return frame;
  }

  Result<Frame> await(Deadline deadline) {
    while (true) {
      Result<std::optional<Frame>> frame = channel_.next();
      if (!frame.ok())
        return error(frame.status().code(),
                     "rank {}: the process at {} that hosts this communicator's bootstrap has "
                     "ended or cannot be reached: {}",
                     rank_, root_.text(), frame.status().message());
      if (frame->has_value()) return std::move(**frame);
      if (stop_.stop_requested()) return stopped();
      if (deadline.passed())
        return error(Code::kTimeout,
                     "rank {}: the process at {} that hosts this communicator's bootstrap does "
                     "not answer; see whether it still runs",
                     rank_, root_.text());
      wait(deadline);
      // As above: reading tells the reason.
      [[maybe_unused]] const Status flushed = channel_.flush();
    }
  }

  void wait(Deadline deadline) {
    const short events = channel_.wants_write() ? POLLIN | POLLOUT : POLLIN;
    pollfd entry{.fd = channel_.fd(), .events = events, .revents = 0};
    const int left_ms = deadline.left_ms();
    poll(&entry, 1,
         stop_.stop_possible() ? std::min(left_ms, static_cast<int>(kStopTurnMs)) : left_ms);
  }

  void say_farewell(FrameType type, std::span<const std::byte> body) {
    const Deadline deadline = Deadline::after_ms(kFarewellMs);
    Status status = channel_.send(type, body);
    while (status.ok() && channel_.wants_write() && !deadline.passed()) {
      pollfd entry{.fd = channel_.fd(), .events = POLLOUT, .revents = 0};
      poll(&entry, 1, deadline.left_ms());
      status = channel_.flush();
    }
  }

  Status unreadable() const {
    return error(Code::kInternalError, "rank {}: the bootstrap at {} sent an unreadable answer",
                 rank_, root_.text());
  }

  const int rank_;
  const int rank_count_;
  const std::vector<int> members_;
  const std::stop_token stop_;
  const net::Address root_;
  FrameChannel channel_;
  std::vector<Hello> hellos_;
  uint64_t comm_key_ = 0;
  Secret transport_secret_{};
  uint32_t round_ = 0;
  Status failure_;
};

Result<net::Connection> dial_root(const Meeting& meeting, Deadline deadline) {
  const UniqueId& id = meeting.id;
  const net::Destination root{.candidates = id.addresses,
                              .service = {id.root_key(), net::Service::kBootstrap, 0},
                              .from = meeting.rank,
                              .note = {}};
  const int64_t begin_ns = now_ns();
  while (!meeting.stop.stop_requested()) {
    const int64_t turn_ms = meeting.stop.stop_possible()
                                ? std::min<int64_t>(deadline.left_ms(), kStopDialMs)
                                : deadline.left_ms();
    Result<net::Connection> connection = net::dial(root, id.secret, Deadline::after_ms(turn_ms));
    if (connection.ok()) return connection;
    // A definite answer stays, except that rank 0 may not have come to the meeting point yet.
    const bool may_change =
        connection.status().code() == Code::kTimeout || id.fixed_root || id.late_root;
    if (!may_change || deadline.passed())
      return connection.status().at(
          fmt::format("rank {} cannot reach the process that hosts this communicator's bootstrap",
                      meeting.rank));
    const int64_t pause_ns = std::clamp((now_ns() - begin_ns) / 8, kRedialFirstNs, kRedialLastNs);
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(std::min<int64_t>(pause_ns, deadline.left_ns())));
  }
  return stopped();
}

// The process's socket at the meeting point; the text's host must be this one.
Status host_meeting_point(const UniqueId& id, const Config& config) {
  Status last = error(Code::kInvalidArgument, "the meeting point has no address");
  for (const net::Address& address : id.addresses) {
    Result<std::shared_ptr<net::Listener>> listener = net::Listener::at(address);
    if (listener.ok()) return start_bootstrap_root(id, std::move(*listener), config);
    last = listener.status().at(
        "rank 0 hosts the meeting point of STRAIT_COMM_ID (NCCL_COMM_ID), which must name a free "
        "port of its host");
  }
  return last;
}

// Where the root is not the id's maker's, rank 0 hosts it.
Status host_root(const Meeting& meeting, const Config& config) {
  if (meeting.rank != 0) return Status();
  if (meeting.id.fixed_root) return host_meeting_point(meeting.id, config);
  return meeting.host ? start_bootstrap_root(meeting.id, meeting.host, config) : Status();
}

}  // namespace

Result<std::vector<net::Address>> own_addresses(const net::Listener& listener,
                                                const Config& config) {
  STRAIT_ASSIGN(const std::vector<net::Interface> interfaces, net::read_interfaces());
  STRAIT_ASSIGN(std::vector<net::Address> addresses,
                net::choose_addresses(interfaces, config.socket_ifname, config.socket_family));
  for (net::Address& address : addresses) address.port = listener.port();
  return addresses;
}

Result<UniqueId> make_unique_id(const Config& config) {
  if (!config.comm_id.empty()) return UniqueId::from_meeting_point(config.comm_id);
  STRAIT_ASSIGN(std::shared_ptr<net::Listener> listener, net::Listener::get(config.port_range));
  STRAIT_ASSIGN(std::vector<net::Address> addresses, own_addresses(*listener, config));
  UniqueId id = UniqueId::random(std::move(addresses));
  STRAIT_TRY(start_bootstrap_root(id, std::move(listener), config));
  log_info(LogPart::kBootstrap, "a communicator may meet at {}", net::text_of(id.addresses));
  return id;
}

Result<std::unique_ptr<Bootstrap>> Bootstrap::join(const Meeting& meeting, const Config& config,
                                                   const Hello& hello, Deadline deadline) {
  const auto [rank, rank_count] = std::pair(meeting.rank, meeting.rank_count);
  if (rank_count < 1 || rank < 0 || rank >= rank_count) {
    const Status why =
        error(Code::kInvalidArgument, "{} is out of range: there are {} ranks, numbered from 0",
              name_rank(rank, hello), rank_count);
    report_failure(meeting, why);
    return why;
  }
  STRAIT_TRY(host_root(meeting, config));
  STRAIT_ASSIGN(net::Connection connection, dial_root(meeting, deadline));
  auto member = std::make_unique<Member>(std::move(connection), meeting);
  STRAIT_TRY(member->join(meeting.id.secret, hello, deadline));
  return std::unique_ptr<Bootstrap>(std::move(member));
}

void report_failure(const Meeting& meeting, const Status& why) {
  // Without a root there is nobody who could pass it on; one that runs already is as good.
  [[maybe_unused]] const Status hosted = host_root(meeting, Config());
  Result<net::Connection> connection = dial_root(meeting, Deadline::after_ms(kReportMs));
  if (connection.ok()) Member(std::move(*connection), meeting).fail(why);
}

}  // namespace strait
