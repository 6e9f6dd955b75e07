// The sentences of failures, which need no device.
#include "transport/verbs/failure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <set>

namespace strait::verbs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Path kPath{.peer = 3,
                 .link = "link 1->3 lane 2",
                 .port = "mlx5_0:1",
                 .local = "10.0.0.1",
                 .remote = "10.0.0.2",
                 .kind = "RoCE v2 over IPv4",
                 .mtu_bytes = 4096};

TEST(VerbsFailure, SaysCausePlaceAndRemedy) {
  const Status status =
      transfer_failed(kPath, IBV_WC_RETRY_EXC_ERR, "transport retry counter exceeded", 0x81, "");
  EXPECT_EQ(status.code(), Code::kRemoteError);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("link 1->3 lane 2 over mlx5_0:1: transport retry counter exceeded"),
                    HasSubstr("(error 12.0x81)"), HasSubstr("rank 3 does not acknowledge"),
                    HasSubstr("4096 bytes from 10.0.0.1 to 10.0.0.2 (RoCE v2 over IPv4)"),
                    HasSubstr("STRAIT_IB_GID_INDEX")));
}

TEST(VerbsFailure, SaysWhatTheDeviceComplainsOf) {
  EXPECT_THAT(transfer_failed(kPath, IBV_WC_WR_FLUSH_ERR, "flushed", 0, "port 1 is down").message(),
              HasSubstr("flushed (error 5.0x0): port 1 is down: look at its cable"));
}

TEST(VerbsFailure, EveryErrorIsOneSentence) {
  std::set<std::string> different;
  for (int status = IBV_WC_LOC_LEN_ERR; status <= IBV_WC_GENERAL_ERR; ++status) {
    const std::string text = transfer_failed(kPath, status, "name", 0, "").message();
    EXPECT_THAT(text, HasSubstr(fmt::format("error {}.", status)));
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_FALSE(text.ends_with("."));
    different.insert(text.substr(text.find("): ")));
  }
  EXPECT_GE(different.size(), 6U);
}

}  // namespace
}  // namespace strait::verbs
