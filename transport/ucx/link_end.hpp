// What both ends of a link have in common: the worker that moves its messages, the stream beside
// it, which shows that the peer lives and carries what it has to say, and the first failure.
// Everything below the worker's mutex.
#pragma once

#include <atomic>
#include <mutex>

#include "base/doorbell.hpp"
#include "transport/net/address.hpp"
#include "transport/net/frame_buffer.hpp"
#include "transport/net/link_failure.hpp"
#include "transport/ucx/worker.hpp"

namespace strait::ucx {

struct LinkTerms {
  LinkSpec spec;
  int peer = 0;
  std::vector<std::byte> peer_worker;  // empty: nothing is sent to it
  std::shared_ptr<Worker> worker;
  std::shared_ptr<Reactor> reactor;
  Doorbell* doorbell = nullptr;
};

class LinkEnd : protected Lands, private EndpointUser {
 public:
  // Fails the link here and, over the stream, there.
  void abort(const Status& why);
  bool peer_gave_up() const { return peer_gave_up_.load(std::memory_order_acquire); }
  // By which the peer names this end; unlike that of any other link of the worker.
  uint32_t id() const { return id_; }

 protected:
  explicit LinkEnd(const LinkTerms& terms)
      : terms_(terms), spec_(terms.spec), mutex_(terms.worker->mutex()) {}
  ~LinkEnd() = default;  // of an end that has called stop()

  // Slots and an id.
  Status prepare();
  // The way to the peer, who has proved itself. Mutex held.
  Status find_peer();
  // Begins to listen to the stream.
  Status listen(net::Stream stream, const net::Address& remote);
  // Stops everything that runs by itself. The frame is the last that the peer gets.
  void stop(const net::FrameHeader& farewell);

  // Mutex held, all of them.
  virtual void on_frame(const net::FrameHeader& header) = 0;
  virtual void on_closed(const Status& why) = 0;
  // Something is still to come from the peer, or to go to it.
  virtual bool needs_peer() const { return true; }

  // Mutex held. A request that did not do what it should; false where that is to be expected.
  bool failed(const char* what, ucs_status_t status);
  // The first failure, found here: the peer is told.
  void fail(const Status& why);
  void ring() {
    terms_.worker->heard();
    terms_.doorbell->ring();
  }
  bool can_send() const { return endpoint_ != nullptr && endpoint_->failure.ok(); }
  std::string place() const;
  static uint64_t tag_of(uint32_t id, uint64_t sequence) {
    return uint64_t{id} << 32 | static_cast<uint32_t>(sequence);
  }

  const LinkTerms terms_;
  const LinkSpec spec_;
  std::mutex& mutex_;
  net::LinkFailure failure_;
  std::shared_ptr<Flight> flight_;
  Endpoint* endpoint_ = nullptr;

 private:
  void on_endpoint_failed(const Status& why) override;
  void on_stream();

  uint32_t id_ = 0;
  net::Stream stream_;
  std::string remote_;  // for people
  net::FrameBuffer frames_;
  bool stopped_ = false;
  uint64_t timer_ = 0;                     // of a failure of the endpoint; 0: none
  std::atomic<bool> peer_gave_up_{false};  // partner: peer_gave_up() of any thread
};

}  // namespace strait::ucx
