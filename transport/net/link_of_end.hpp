// Links made of ends that do the work: an end derives from what both directions of its transport
// share, and so is no link itself. Owned by the communicator's connections; thread rules as in
// link.hpp; a call more per look.
#pragma once

#include <memory>
#include <utility>

#include "transport/link.hpp"

namespace strait::net {

template <class End>
class SendLinkOfEnd final : public SendLink {
 public:
  explicit SendLinkOfEnd(std::unique_ptr<End> end) : end_(std::move(end)) {}

  std::span<std::byte> send_slot() override { return end_->send_slot(); }
  void commit(size_t bytes, uint32_t tag) override { end_->commit(bytes, tag); }
  SlotPlaces places() override { return end_->places(); }
  bool flushed() const override { return end_->flushed(); }
  LinkRate rate() override { return end_->rate(); }
  Status status() const override { return end_->status(); }
  bool peer_gave_up() const override { return end_->peer_gave_up(); }
  void abort(const Status& why) override { end_->abort(why); }

 private:
  const std::unique_ptr<End> end_;
};

template <class End>
class RecvLinkOfEnd final : public RecvLink {
 public:
  explicit RecvLinkOfEnd(std::unique_ptr<End> end) : end_(std::move(end)) {}

  Message recv_slot() override { return end_->peek(0); }
  Message peek(uint32_t ahead) override { return end_->peek(ahead); }
  SlotPlaces places() override { return end_->places(); }
  void release() override { end_->release(); }
  Status status() const override { return end_->status(); }
  bool peer_gave_up() const override { return end_->peer_gave_up(); }
  void abort(const Status& why) override { end_->abort(why); }

 private:
  const std::unique_ptr<End> end_;
};

template <class End>
std::unique_ptr<SendLink> send_link_of(std::unique_ptr<End> end) {
  return std::make_unique<SendLinkOfEnd<End>>(std::move(end));
}
template <class End>
std::unique_ptr<RecvLink> recv_link_of(std::unique_ptr<End> end) {
  return std::make_unique<RecvLinkOfEnd<End>>(std::move(end));
}

}  // namespace strait::net
