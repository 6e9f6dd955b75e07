#include "transport/net/absent.hpp"

namespace strait::net {
namespace {

class Absent final : public Transport {
 public:
  Absent(std::string name, std::string way, Status why)
      : name_(std::move(name)), way_(std::move(way)), why_(std::move(why)) {}

  std::string_view name() const override { return name_; }
  LinkSpeed speed() const override { return {.latency_us = 3, .gigabytes_per_second = 1}; }
  std::string address() const override { return ""; }
  Status reach(int peer, const std::string&, Deadline) override {
    return why_.at(fmt::format("rank {} is not reached by {}", peer, way_));
  }
  Result<std::unique_ptr<SendLink>> connect(const std::string&, const LinkSpec& spec,
                                            Deadline deadline) override {
    return reach(spec.destination, "", deadline);
  }
  Result<std::unique_ptr<RecvLink>> accept(const std::string&, const LinkSpec& spec,
                                           Deadline deadline) override {
    return reach(spec.source, "", deadline);
  }

 private:
  const std::string name_;
  const std::string way_;
  const Status why_;
};

}  // namespace

std::unique_ptr<Transport> absent(std::string name, std::string way, Status why) {
  return std::make_unique<Absent>(std::move(name), std::move(way), std::move(why));
}

}  // namespace strait::net
