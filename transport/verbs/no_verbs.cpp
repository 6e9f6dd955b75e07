#include "transport/verbs/no_verbs.hpp"

namespace strait::verbs {
namespace {

class NoVerbs final : public Transport {
 public:
  explicit NoVerbs(Status why) : why_(std::move(why)) {}

  std::string_view name() const override { return "verbs"; }
  LinkSpeed speed() const override { return {.latency_us = 3, .gigabytes_per_second = 1}; }
  std::string address() const override { return ""; }
  Status reach(int peer, const std::string&, Deadline) override {
    return why_.at(fmt::format("rank {} is not reached by RDMA", peer));
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
  const Status why_;
};

}  // namespace

std::unique_ptr<Transport> no_verbs(Status why) {
  return std::make_unique<NoVerbs>(std::move(why));
}

}  // namespace strait::verbs
