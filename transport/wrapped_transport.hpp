// WrappedTransport: what the wrappers (throttle, trace, fault) have in common: they own another
// transport, pass on what they do not change, and by default hand out its links as they are. Thread
// rules as in transport.hpp.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "transport/transport.hpp"

namespace strait {

class WrappedTransport : public Transport {
 public:
  explicit WrappedTransport(std::unique_ptr<Transport> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  LinkSpeed speed() const override { return inner_->speed(); }
  std::string address() const override { return inner_->address(); }
  Status reach(int peer, const std::string& peer_address, Deadline deadline) override {
    return inner_->reach(peer, peer_address, deadline);
  }
  Result<std::unique_ptr<SendLink>> connect(const std::string& peer_address, const LinkSpec& spec,
                                            Deadline deadline) override {
    return inner_->connect(peer_address, spec, deadline);
  }
  Result<std::unique_ptr<RecvLink>> accept(const std::string& peer_address, const LinkSpec& spec,
                                           Deadline deadline) override {
    return inner_->accept(peer_address, spec, deadline);
  }
  Result<std::shared_ptr<const SharedMemory>> map_segment(int peer, const std::string& peer_address,
                                                          uint64_t segment,
                                                          Deadline deadline) override {
    return inner_->map_segment(peer, peer_address, segment, deadline);
  }

 protected:
  const Transport& inner() const { return *inner_; }

 private:
  std::unique_ptr<Transport> inner_;
};

}  // namespace strait
