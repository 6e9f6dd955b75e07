// What both ends of a link have in common: a queue, the stream beside it, which shows that the peer
// lives and carries what it has to say, and the first failure. The owner polls the queue when it
// looks for something; only when it finds nothing is the reactor told to ring at the next
// completion. Everything below the mutex, which is held for as long as it takes to post or to poll.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "base/doorbell.hpp"
#include "base/reactor.hpp"
#include "transport/net/frame_buffer.hpp"
#include "transport/net/link_failure.hpp"
#include "transport/verbs/failure.hpp"
#include "transport/verbs/queue.hpp"
#include "transport/verbs/slot_memory.hpp"

namespace strait::verbs {

struct LinkTerms {
  LinkSpec spec;
  int peer = 0;
  Queue::Terms queue;  // sends, receives and access are the end's own
  // Where the GPU's memory for slots is, if links want it and NICs read or write it; or null.
  DeviceSlotSource* slots_to_read = nullptr;
  DeviceSlotSource* slots_to_write = nullptr;
  std::shared_ptr<Reactor> reactor;
  Doorbell* doorbell = nullptr;
};

// What the receiver answers over the stream.
struct ReceiverSide {
  Side side;
  Queue::Place slots;
};

class LinkEnd : private CompletionListener {
 public:
  // Fails the link here and, over the stream, there.
  void abort(const Status& why);
  bool peer_gave_up() const { return peer_gave_up_.load(std::memory_order_acquire); }
  const Side& side() const { return queue_->side(); }

 protected:
  explicit LinkEnd(const LinkTerms& terms) : terms_(terms), spec_(terms.spec) {}
  ~LinkEnd() = default;  // of an end that has called stop()

  Status make_queue(uint32_t sends, uint32_t receives, int access);
  // One that is its own other end, whose reads push along what was written here.
  Status make_flush_queue();
  // Begins to listen to the stream.
  Status listen(net::Stream stream, const net::Address& remote);
  // Stops everything that runs by itself. The frame is the last that the peer gets.
  void stop(const net::FrameHeader* farewell);

  // Mutex held, all of them.
  virtual void on_completion(const ibv_wc& completion) = 0;
  virtual void on_frame(const net::FrameHeader& header, std::span<const std::byte> body) = 0;
  virtual void on_closed(const Status& why) = 0;
  virtual void on_room() {}  // for what is sent

  // Mutex held. Polls; true when the condition holds, else the reactor rings at the next
  // completion.
  template <class Condition>
  bool look(Condition holds) {
    if (holds()) return true;
    drain();
    if (holds()) return true;
    drain_armed();
    return holds();
  }
  void drain();
  // What came before the arming would ring nobody.
  void drain_armed() {
    if (armed_) return;
    armed_ = queue_->arm() && (!flush_queue_ || flush_queue_->arm());
    drain();
  }
  Status start_queue(const Side& remote);
  // The first failure, found here: the peer is told.
  void fail(const Status& why);
  void fail_post(const char* what, int number);

  const LinkTerms terms_;
  const LinkSpec spec_;
  net::LinkFailure failure_;
  std::mutex mutex_;
  std::optional<Queue> queue_;
  std::optional<Queue> flush_queue_;
  net::Stream stream_;
  std::string remote_;  // for people

 private:
  void on_completions() override;
  void on_stream();
  void drain(Queue& queue);
  Path path() const;

  net::FrameBuffer frames_;
  Side remote_side_;
  bool armed_ = false;
  std::atomic<bool> peer_gave_up_{false};  // partner: peer_gave_up() of any thread
};

}  // namespace strait::verbs
