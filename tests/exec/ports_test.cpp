// A link that stops before its reason can be read: whoever asks gets the reason, never none.
#include "exec/ports.hpp"

#include <gmock/gmock.h>

namespace strait {
namespace {

// Says why it failed at the third question, or never.
class LateReason final : public RecvLink {
 public:
  explicit LateReason(bool comes) : comes_(comes) {}

  Message recv_slot() override { return {}; }
  void release() override {}
  Status status() const override {
    if (!comes_ || ++asked_ < 3) return Status();
    return error(Code::kRemoteError, "rank 1 gave up");
  }
  void abort(const Status&) override {}

 private:
  const bool comes_;
  mutable int asked_ = 0;
};

TEST(FailureOf, IsTheReasonThatIsBeingWritten) {
  EXPECT_EQ(failure_of(LateReason(true)).message(), "rank 1 gave up");
}

TEST(FailureOf, IsAFailureEvenWithoutAReason) {
  const Status status = failure_of(LateReason(false));
  EXPECT_EQ(status.code(), Code::kRemoteError);
  EXPECT_THAT(status.message(), testing::HasSubstr("did not say why"));
}

}  // namespace
}  // namespace strait
