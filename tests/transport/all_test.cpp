// How the transports of a communicator are chosen and wrapped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "transport/net/tls.hpp"
#include "transport/test_ranks.hpp"

namespace strait::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// The context of a rank that has no transport of its own to speak of.
class OpenTransports : public testing::Test {
 protected:
  OpenTransports() {
    context_ = rank_.context();
    context_.comm_key = 77;
  }

  std::vector<std::string> names() {
    auto opened = open_transports(context_);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    std::vector<std::string> names;
    if (opened.ok())
      for (const auto& transport : *opened) names.emplace_back(transport->name());
    return names;
  }

  TestRank rank_{transport_kinds().front().open, 0};
  TransportContext context_;
};

TEST_F(OpenTransports, FastestFirstWhateverTheOrder) {
  context_.config.transports = "shm,inproc";
  EXPECT_THAT(names(), ElementsAre("inproc", "shm"));
  context_.config.transports = "shm";
  EXPECT_THAT(names(), ElementsAre("shm"));
}

TEST_F(OpenTransports, DefaultIsAll) {
  EXPECT_THAT(names(), ElementsAre("inproc", "shm", "verbs", "tcp"));
}

TEST_F(OpenTransports, TheNetworkMayBeNamed) {
  context_.config.net = "IB";
  EXPECT_THAT(names(), ElementsAre("inproc", "shm", "verbs"));
  context_.config.net = "Socket";
  EXPECT_THAT(names(), ElementsAre("inproc", "shm", "tcp"));
}

TEST_F(OpenTransports, UcxIsThereForWhoNamesIt) {
  context_.config.transports = "inproc,ucx,tcp";
  EXPECT_THAT(names(), ElementsAre("inproc", "ucx", "tcp"));
  context_.config = Config();
  context_.config.net = "UCX";
  EXPECT_THAT(names(), ElementsAre("inproc", "shm", "ucx"));
}

TEST_F(OpenTransports, WithoutRdmaPortsVerbsReachesNobody) {
  context_.config.transports = "verbs";
  context_.config.ib_disable = 1;
  const auto opened = open_transports(context_);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Transport& verbs = *opened->front();
  EXPECT_EQ(verbs.address(), "");
  EXPECT_THAT(verbs.reach(3, "", soon()).message(),
              AllOf(HasSubstr("rank 3 is not reached by RDMA"), HasSubstr("STRAIT_IB_DISABLE")));
  EXPECT_FALSE(verbs.connect("", {.source = 0, .destination = 3}, soon()).ok());
  EXPECT_FALSE(verbs.accept("", {.source = 3, .destination = 0}, soon()).ok());
}

TEST_F(OpenTransports, UnknownNamesAreTold) {
  for (const char* text : {"", "pigeon", "inproc,", "inproc,,shm", "shm,pigeon", "SHM", " shm"}) {
    context_.config.transports = text;
    const auto opened = open_transports(context_);
    ASSERT_FALSE(opened.ok()) << text;
    EXPECT_EQ(opened.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(opened.status().message(), HasSubstr("the known ones are inproc, shm"));
  }
}

TEST_F(OpenTransports, BadFaultsAreTold) {
  context_.config.transports = "inproc";
  context_.config.fault = "earthquake=9";
  const auto opened = open_transports(context_);
  EXPECT_THAT(opened.status().message(), HasSubstr("earthquake"));
}

TEST_F(OpenTransports, WithoutSharedDoorbellNoSharedMemory) {
  context_.doorbell_fd = -1;
  context_.config.transports = "inproc";
  EXPECT_THAT(names(), ElementsAre("inproc"));
  context_.config.transports = "shm";
  EXPECT_THAT(open_transports(context_).status().message(), HasSubstr("doorbell of rank 0"));
}

TEST_F(OpenTransports, WrapsAsSet) {
  const std::string file = testing::TempDir() + "/strait-all-" + std::to_string(getpid());
  context_.config.transports = "inproc,shm";
  context_.config.fault = "cut_after=1";
  context_.config.trace_file = file + "-%r";
  {
    auto opened = open_transports(context_);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    for (const auto& transport : *opened) {
      const LinkSpec to_self{0, 0, 0, 2, 64};
      auto send = transport->connect(transport->address(), to_self, soon());
      ASSERT_TRUE(send.ok()) << send.status().message();
      for (int i = 0; i < 2; ++i) {
        ASSERT_FALSE((*send)->send_slot().empty());
        (*send)->commit(1, 0);
      }
      EXPECT_THAT((*send)->status().message(), HasSubstr("cut after 1"));
    }
  }
  EXPECT_TRUE(std::filesystem::remove(file + "-0"));
}

// NICs would send in clear what the program wants encrypted.
TEST_F(OpenTransports, NoRdmaWhereConnectionsAreEncrypted) {
  auto key = net::TlsKey::make("a key of thirty-two bytes or more");
  if (!key.ok()) GTEST_SKIP() << key.status().message();
  context_.config.transports = "verbs";
  net::set_process_key(*key);
  auto opened = open_transports(context_);
  net::set_process_key(nullptr);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->front()->address(), "");
  const Status status = opened->front()->reach(1, "", soon());
  EXPECT_THAT(status.message(), HasSubstr("does not encrypt"));
}

}  // namespace
}  // namespace strait::test
