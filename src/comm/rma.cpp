#include "comm/rma.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <system_error>

namespace strait {
namespace {

// Copied under the lock of the window at once.
constexpr uint64_t kPieceBytes = 1 << 20;
constexpr int64_t kAcceptTurnMs = 100;
constexpr int64_t kSlotTurnMs = 200;
constexpr int64_t kMapMs = 10'000;

// Of this process, by communicator and rank.
struct Neighbours {
  std::mutex mutex;
  std::map<std::pair<Secret, int>, std::weak_ptr<Rma>> all;
};

Neighbours& neighbours() {
  static Neighbours& table = *new Neighbours();  // agents may outlive static objects
  return table;
}

SignalShape shape_of(const Rma::Terms& terms) {
  return {.rank_count = static_cast<int>(terms.routes.size()),
          .contexts = terms.contexts,
          .signals = terms.signals};
}

// Null: by memcpy.
WindowTable::Writer writer(const std::shared_ptr<GpuOneSided>& gpu) {
  if (gpu == nullptr) return nullptr;
  return [gpu](std::byte* target, std::span<const std::byte> bytes) {
    return gpu->write(target, bytes);
  };
}

}  // namespace

Rma::Rma(Terms terms)
    : terms_(std::move(terms)),
      shape_(shape_of(terms_)),
      windows_(writer(terms_.gpu)),
      board_(shape_) {
  for (size_t i = 0; i < terms_.routes.size(); ++i) peers_.push_back(std::make_unique<Peer>());
}

Rma::~Rma() {
  close();
}

void Rma::close() {
  if (terms_.gpu) terms_.gpu->close();
  if (!ending_.exchange(true)) terms_.doorbell->ring();
  if (agent_.joinable()) agent_.join();
  std::lock_guard lock(neighbours().mutex);
  neighbours().all.erase({terms_.group, terms_.rank});
}

Result<std::shared_ptr<Rma>> Rma::open(Terms terms, Deadline deadline) {
  auto rma = std::make_shared<Rma>(std::move(terms));
  {
    std::lock_guard lock(neighbours().mutex);
    neighbours().all[{rma->terms_.group, rma->terms_.rank}] = rma;
  }
  STRAIT_TRY(rma->connect(deadline));
  try {
    rma->agent_ = std::thread([self = rma.get()] { self->serve(); });
  } catch (const std::system_error& failure) {
    return error(Code::kSystemError,
                 "no thread for one-sided calls: {}; raise the limit of processes (ulimit -u)",
                 failure.what());
  }
  return rma;
}

LinkSpec Rma::spec(int source, int destination) const {
  return {.source = terms_.routes[static_cast<size_t>(source)].rank,
          .destination = terms_.routes[static_cast<size_t>(destination)].rank,
          .lane = terms_.lane,
          .slots = terms_.slots,
          .slot_bytes = terms_.slot_bytes + sizeof(PutHeader)};
}

Status Rma::connect(Deadline deadline) {
  const int ranks = static_cast<int>(peers_.size());
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == terms_.rank) continue;
    const PeerRoute& route = terms_.routes[static_cast<size_t>(peer)];
    STRAIT_ASSIGN(peers_[static_cast<size_t>(peer)]->send,
                  route.transport->connect(route.address, spec(terms_.rank, peer), deadline));
  }
  for (int peer = 0; peer < ranks; ++peer) {
    while (peer != terms_.rank) {
      STRAIT_TRY(terms_.stopped());
      const PeerRoute& route = terms_.routes[static_cast<size_t>(peer)];
      const int64_t turn_ms = std::min<int64_t>(deadline.left_ms(), kAcceptTurnMs);
      auto link = route.transport->accept(route.address, spec(peer, terms_.rank),
                                          Deadline::after_ms(turn_ms));
      if (link.ok()) {
        peers_[static_cast<size_t>(peer)]->recv = std::move(*link);
        break;
      }
      if (link.status().code() != Code::kTimeout || deadline.passed()) return link.status();
    }
  }
  return Status();
}

Status Rma::run(const std::vector<RmaCall>& calls) {
  for (const RmaCall& call : calls)
    if (!call.is_wait()) {
      const auto target = neighbour(call.to.peer);
      STRAIT_TRY(target ? write(call, *target) : send(call, write_through(call)));
    }
  for (const RmaCall& call : calls)
    if (call.is_wait())
      STRAIT_TRY(board_.wait(call.waits, Deadline::after_ms(terms_.timeout_ms),
                             [this](int peer) { return why_not(peer); }));
  return Status();
}

Status Rma::why_not(int peer) {
  STRAIT_TRY(terms_.stopped());
  Peer& other = *peers_[static_cast<size_t>(peer)];
  std::lock_guard lock(other.state);
  return other.gone;
}

// Empty: the peer is in another process or domain, or has gone; its link knows.
std::shared_ptr<Rma> Rma::neighbour(int peer) const {
  const auto& transport = terms_.routes[static_cast<size_t>(peer)].transport;
  if (peer != terms_.rank && transport->name() != "inproc") return nullptr;
  std::lock_guard lock(neighbours().mutex);
  const auto found = neighbours().all.find({terms_.group, peer});
  return found == neighbours().all.end() ? nullptr : found->second.lock();
}

Status Rma::write(const RmaCall& call, Rma& target) {
  for (uint64_t done = 0; done < call.bytes; done += kPieceBytes) {
    const uint64_t piece = std::min(call.bytes - done, kPieceBytes);
    STRAIT_TRY(target.windows_.write(call.window, call.offset + done, {call.source + done, piece}));
  }
  target.board_.add({.peer = terms_.rank, .context = call.to.context, .index = call.to.index});
  return Status();
}

bool Rma::write_through(const RmaCall& call) {
  if (!terms_.zero_copy || call.bytes == 0) return false;
  PeerWindow window = windows_.peer(call.window, call.to.peer);
  if (window.place.segment == 0) return false;
  if (window.memory == nullptr) {
    const PeerRoute& route = terms_.routes[static_cast<size_t>(call.to.peer)];
    auto mapped = route.transport->map_segment(route.rank, route.address, window.place.segment,
                                               Deadline::after_ms(kMapMs));
    // Never again by this way if it failed now: the puts into one window stay in their order.
    if (mapped.ok()) window.memory = std::move(*mapped);
    windows_.set_memory(call.window, call.to.peer, window.memory);
    if (window.memory == nullptr) return false;
  }
  const uint64_t begin = window.place.offset + call.offset;
  const uint64_t size = window.memory->bytes();
  if (begin > size || call.bytes > size - begin) return false;
  std::memcpy(window.memory->data() + begin, call.source, call.bytes);
  return true;
}

Status Rma::send(const RmaCall& call, bool written) {
  Peer& peer = *peers_[static_cast<size_t>(call.to.peer)];
  std::lock_guard lock(peer.mutex);
  uint64_t sent = written ? call.bytes : 0;
  do {
    STRAIT_ASSIGN(const std::span<std::byte> slot, await_slot(peer));
    const uint64_t piece = std::min<uint64_t>(call.bytes - sent, terms_.slot_bytes);
    const bool last = sent + piece == call.bytes;
    const PutHeader header{.window = call.window,
                           .bytes = static_cast<uint32_t>(piece),
                           .offset = call.offset + sent,
                           .context = call.to.context,
                           .signal = last ? call.to.index : -1};
    std::memcpy(slot.data(), &header, sizeof header);
    if (piece > 0) std::memcpy(slot.data() + sizeof header, call.source + sent, piece);
    peer.send->commit(sizeof header + piece, kRmaTag);
    sent += piece;
  } while (sent < call.bytes);
  return Status();
}

Result<std::span<std::byte>> Rma::await_slot(Peer& peer) {
  const Deadline deadline = Deadline::after_ms(terms_.timeout_ms);
  while (true) {
    const uint32_t seen = terms_.doorbell->read();
    const std::span<std::byte> slot = peer.send->send_slot();
    if (!slot.empty()) return slot;
    STRAIT_TRY(peer.send->status());
    STRAIT_TRY(terms_.stopped());
    if (deadline.passed())
      return error(Code::kTimeout,
                   "rank {}: a put waited {} ms for its peer to take the one before; look at that "
                   "rank, or raise STRAIT_TIMEOUT_MS",
                   terms_.rank, terms_.timeout_ms);
    terms_.doorbell->wait(seen, Deadline::after_ms(kSlotTurnMs));
  }
}

// The agent. It has no deadline while nothing comes.
void Rma::serve() {
  while (!ending_.load()) {
    const uint32_t seen = terms_.doorbell->read();
    bool took = false;
    for (size_t peer = 0; peer < peers_.size(); ++peer) took |= take_all(static_cast<int>(peer));
    if (terms_.gpu) {
      took |= send_on();
      look_at_waits();
    }
    if (!took && !ending_.load()) terms_.doorbell->wait(seen, Deadline::after_ns(turn_ns()));
  }
}

bool Rma::take_all(int rank) {
  Peer& peer = *peers_[static_cast<size_t>(rank)];
  if (!peer.recv) return false;
  bool took = false;
  while (true) {
    Message message = peer.recv->recv_slot();
    if (message.bytes.empty()) {
      const Status status = peer.recv->status();
      if (status.ok()) return took;
      // What the peer sent before it left counts.
      message = peer.recv->recv_slot();
      if (message.bytes.empty()) {
        {
          std::lock_guard lock(peer.state);
          peer.gone = status;
        }
        peer.recv.reset();
        board_.wake();
        return took;
      }
    }
    took = true;
    const Status status = take(rank, message.bytes);
    peer.recv->release();
    if (!status.ok())
      terms_.fail(status.at(fmt::format("rank {}, from rank {}", terms_.rank, rank)));
  }
}

Status Rma::take(int rank, std::span<const std::byte> message) {
  PutHeader header;
  if (message.size() < sizeof header)
    return error(Code::kRemoteError, "a one-sided message of {} bytes", message.size());
  std::memcpy(&header, message.data(), sizeof header);
  const auto bytes = message.subspan(sizeof header);
  if (bytes.size() != header.bytes)
    return error(Code::kRemoteError, "a one-sided message has {} bytes and says {}", bytes.size(),
                 header.bytes);
  // Also where nothing is left to write: the window must be there.
  if (header.window != 0) STRAIT_TRY(windows_.write(header.window, header.offset, bytes));
  if (header.signal < 0) return Status();
  const SignalName name{.peer = rank, .context = header.context, .index = header.signal};
  if (shape_.has(name)) {
    if (terms_.gpu)
      terms_.gpu->add(name);
    else
      board_.add(name);
    return Status();
  }
  return error(Code::kRemoteError, "there is no signal {} in context {}", header.signal,
               header.context);
}

void Rma::end() {
  pending_.fetch_sub(1);
  terms_.doorbell->ring();
}

bool Rma::idle() const {
  if (terms_.gpu && terms_.gpu->busy()) return false;
  return pending_.load() == 0 && std::ranges::all_of(peers_, [](const auto& peer) {
           return !peer->send || peer->send->flushed();
         });
}

void Rma::stop(const Status& why) {
  for (const auto& peer : peers_)
    if (peer->send) peer->send->abort(why);
  terms_.doorbell->ring();
  board_.wake();
}

uint64_t Rma::memory_bytes() const {
  return 2 * (peers_.size() - 1) * terms_.slots * (terms_.slot_bytes + sizeof(PutHeader)) +
         (terms_.gpu ? terms_.gpu->memory_bytes() : 0);
}

}  // namespace strait
