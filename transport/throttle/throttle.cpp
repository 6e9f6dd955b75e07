#include "transport/throttle/throttle.hpp"

#include <algorithm>

#include "transport/throttle/held_sender.hpp"
#include "transport/wrapped_transport.hpp"

namespace strait {
namespace {

class ThrottleTransport final : public WrappedTransport {
 public:
  ThrottleTransport(std::unique_ptr<Transport> inner, std::shared_ptr<RateBucket> bucket)
      : WrappedTransport(std::move(inner)), bucket_(std::move(bucket)) {}

  LinkSpeed speed() const override {
    LinkSpeed speed = inner().speed();
    speed.gigabytes_per_second = std::min(speed.gigabytes_per_second,
                                          static_cast<double>(bucket_->bytes_per_second()) / 1e9);
    return speed;
  }

  Result<std::unique_ptr<SendLink>> connect(const std::string& peer_address, const LinkSpec& spec,
                                            Deadline deadline) override {
    STRAIT_ASSIGN(auto reactor, Reactor::get());
    STRAIT_ASSIGN(auto link, WrappedTransport::connect(peer_address, spec, deadline));
    return std::unique_ptr<SendLink>(std::make_unique<HeldSender>(
        std::move(link), spec, std::move(reactor),
        [bucket = bucket_](size_t bytes) { return bucket->reserve(bytes); }));
  }

 private:
  std::shared_ptr<RateBucket> bucket_;
};

}  // namespace

std::unique_ptr<Transport> throttle(std::unique_ptr<Transport> inner,
                                    std::shared_ptr<RateBucket> bucket) {
  return std::make_unique<ThrottleTransport>(std::move(inner), std::move(bucket));
}

}  // namespace strait
