// ncclConfig_t as the header of each NCCL version lays it out, and as no header does.

#include "api/comm_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

namespace strait::api {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kUnset = NCCL_CONFIG_UNDEF_INT;
constexpr int kGarbage = 0x5a5a5a5a;

struct Head {
  size_t size;
  unsigned magic;
  unsigned version;
};

// The structs of the headers, by the version that changed them.
struct V214 {
  Head head;
  int blocking;
};
struct V217 {
  Head head;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char* netName;
};
struct V218 {
  Head head;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char* netName;
  int splitShare;
};
struct V226 {
  Head head;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char* netName;
  int splitShare, trafficClass;
};
struct V227 {
  V226 first;
  const char* commName;
  int collnetEnable, CTAPolicy, shrinkShare, nvlsCTAs;
};
struct V228 {
  V227 first;
  int nChannelsPerNetPeer, nvlinkCentricSched;
};
struct V229 {
  V228 first;
  int graphUsageMode, numRmaCtx;
};
struct V2304 {
  V229 first;
  int maxP2pPeers, padding;
};
struct V2307 {
  V229 first;
  int maxP2pPeers, graphStreamOrdering;
};
struct V231 {
  V2307 first;
  int launchOrderImplicit, numRmaSig, rmaEagerInit, hostCftMode;
};
struct V232 {
  V231 first;
  int nvlsHostMode;
};

static_assert(sizeof(V214) == 24 && sizeof(V217) == 40 && sizeof(V218) == 48);
static_assert(sizeof(V226) == 48 && sizeof(V227) == 72 && sizeof(V228) == 80);
static_assert(sizeof(V229) == 88 && sizeof(V2304) == 96 && sizeof(V2307) == 96);
static_assert(sizeof(V231) == 112 && sizeof(V232) == 120 && sizeof(ncclConfig_t) == 120);

#define STRAIT_SAME_PLACE(type, prefix, member) \
  static_assert(offsetof(type, prefix member) == offsetof(ncclConfig_t, member))
STRAIT_SAME_PLACE(V217, , blocking);
STRAIT_SAME_PLACE(V217, , netName);
STRAIT_SAME_PLACE(V218, , splitShare);
STRAIT_SAME_PLACE(V226, , trafficClass);
STRAIT_SAME_PLACE(V227, , commName);
STRAIT_SAME_PLACE(V227, , nvlsCTAs);
STRAIT_SAME_PLACE(V228, , nChannelsPerNetPeer);
STRAIT_SAME_PLACE(V229, , graphUsageMode);
STRAIT_SAME_PLACE(V229, , numRmaCtx);
STRAIT_SAME_PLACE(V2304, , maxP2pPeers);
STRAIT_SAME_PLACE(V2307, , graphStreamOrdering);
STRAIT_SAME_PLACE(V231, , launchOrderImplicit);
STRAIT_SAME_PLACE(V231, , hostCftMode);
STRAIT_SAME_PLACE(V232, , nvlsHostMode);
#undef STRAIT_SAME_PLACE

// A struct of an old header: its fields and padding as `fill` bytes, then head and blocking.
template <class Old>
Old old_config(unsigned version, int fill) {
  Old config;
  std::memset(static_cast<void*>(&config), fill, sizeof config);
  auto* numbers = reinterpret_cast<int*>(&config);
  const Head head{sizeof config, NCCL_API_MAGIC, version};
  std::memcpy(&config, &head, sizeof head);
  numbers[sizeof head / sizeof(int)] = 0;  // blocking
  return config;
}

Status apply(const void* options, Config& config) {
  // Right behind the caller's struct lies memory that nobody may read: see that nothing depends on
  // it.
  size_t bytes = 0;
  std::memcpy(&bytes, options, sizeof bytes);
  alignas(16) std::byte room[512];
  std::memset(room, 0x5a, sizeof room);
  std::memcpy(room, options, std::min(bytes, sizeof room));
  return apply_comm_config(reinterpret_cast<const ncclConfig_t*>(room), config);
}

Status apply(const void* options) {
  Config config;
  return apply(options, config);
}

TEST(CommConfig, NoneChangesNothing) {
  Config config;
  ASSERT_TRUE(apply_comm_config(nullptr, config).ok());
  EXPECT_EQ(config.blocking, -1);
  const ncclConfig_t untouched = NCCL_CONFIG_INITIALIZER;
  ASSERT_TRUE(apply(&untouched, config).ok());
  EXPECT_EQ(config.agreed_values(), Config().agreed_values());
  EXPECT_EQ(config.blocking, -1);
}

TEST(CommConfig, The24BytesOf2_14HoldOnlyBlocking) {
  const auto options = old_config<V214>(21403, 0x5a);
  Config config;
  ASSERT_TRUE(apply(&options, config).ok());
  EXPECT_EQ(config.blocking, 0);
  EXPECT_EQ(config.lanes_min, 0);
}

TEST(CommConfig, The40BytesOf2_17AddLanesAndNetwork) {
  V217 options{{sizeof options, NCCL_API_MAGIC, 21701}, 1, 4, 2, 3, "socket"};
  Config config;
  const Status status = apply(&options, config);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(config.blocking, 1);
  EXPECT_EQ(config.lanes_min, 2);
  EXPECT_EQ(config.lanes_max, 3);
  EXPECT_EQ(config.net, "Socket");
  EXPECT_EQ(config.split_share, -1);
}

TEST(CommConfig, PaddingOf2_18IsNoTrafficClass) {
  auto options = old_config<V218>(21801, 0x5a);
  options.cgaClusterSize = options.minCTAs = options.maxCTAs = kUnset;
  options.netName = nullptr;
  options.splitShare = 1;
  Config config;
  const Status status = apply(&options, config);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(config.split_share, 1);
  EXPECT_EQ(config.traffic_class, -1);
}

TEST(CommConfig, The48BytesOf2_26HoldATrafficClass) {
  const V226 options{
      {sizeof options, NCCL_API_MAGIC, 22602}, 1, kUnset, kUnset, kUnset, nullptr, 0, 104};
  Config config;
  ASSERT_TRUE(apply(&options, config).ok());
  EXPECT_EQ(config.traffic_class, 104);
}

V227 config_of_2_27(unsigned version, size_t size) {
  return {{{size, NCCL_API_MAGIC, version}, 1, kUnset, kUnset, kUnset, nullptr, 1, kUnset},
          "tensor parallel",
          0,
          0,
          1,
          2};
}

TEST(CommConfig, The72BytesOf2_27NameTheCommunicator) {
  const V227 options = config_of_2_27(22703, sizeof options);
  Config config;
  ASSERT_TRUE(apply(&options, config).ok());
  EXPECT_EQ(config.comm_name, "tensor parallel");
  EXPECT_EQ(config.shrink_share, 1);
}

TEST(CommConfig, PaddingOf2_30_4IsNoGraphStreamOrdering) {
  const V2304 options{{{config_of_2_27(23004, sizeof options), kUnset, 0}, kUnset, 1}, 4, kGarbage};
  const Status status = apply(&options);
  EXPECT_TRUE(status.ok()) << status.message();
  // The same bytes in a newer struct are a number out of range.
  V2304 newer = options;
  newer.first.first.first.first.head.version = 23007;
  EXPECT_THAT(apply(&newer).message(), HasSubstr("graphStreamOrdering"));
}

TEST(CommConfig, EveryLaterStructIsRead) {
  const V227 first = config_of_2_27(22907, 0);
  V228 v228{first, 2, 1};
  v228.first.first.head = {sizeof v228, NCCL_API_MAGIC, 22809};
  EXPECT_TRUE(apply(&v228).ok());
  V229 v229{{first, 2, 1}, 2, 1};
  v229.first.first.first.head = {sizeof v229, NCCL_API_MAGIC, 22907};
  EXPECT_TRUE(apply(&v229).ok());
  V231 v231{{v229, 4, 0}, 1, 1, 0, 2};
  v231.first.first.first.first.first.head = {sizeof v231, NCCL_API_MAGIC, 23102};
  EXPECT_TRUE(apply(&v231).ok());
  V232 v232{v231, 1};
  v232.first.first.first.first.first.first.head = {sizeof v232, NCCL_API_MAGIC, 23203};
  EXPECT_TRUE(apply(&v232).ok());
  v229.graphUsageMode = 3;
  EXPECT_THAT(apply(&v229).message(), HasSubstr("config.graphUsageMode is 3: it must be 0 to 2"));
}

TEST(CommConfig, VersionsOlderThanAFieldHideIt) {
  ncclConfig_t options = NCCL_CONFIG_INITIALIZER;
  options.version = NCCL_VERSION(2, 16, 0);
  options.minCTAs = options.cgaClusterSize = kGarbage;
  options.netName = reinterpret_cast<const char*>(8);
  options.commName = reinterpret_cast<const char*>(8);
  options.shrinkShare = options.graphUsageMode = options.hostCftMode = kGarbage;
  options.trafficClass = options.nvlinkCentricSched = kGarbage;
  Config config;
  const Status status = apply(&options, config);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(config.agreed_values(), Config().agreed_values());
}

TEST(CommConfig, AStructFromTheFutureIsReadAsFarAsItIsKnown) {
  struct {
    ncclConfig_t known = NCCL_CONFIG_INITIALIZER;
    char unknown[80];
  } options;
  std::memset(options.unknown, 0x5a, sizeof options.unknown);
  options.known.size = sizeof options;
  options.known.version = 29901;
  options.known.maxCTAs = 3;
  Config config;
  ASSERT_TRUE(apply(&options, config).ok());
  EXPECT_EQ(config.lanes_max, 3);
}

TEST(CommConfig, WhatWasNotSetUpIsRefused) {
  ncclConfig_t options = NCCL_CONFIG_INITIALIZER;
  options.magic = 0xdeadbeef;
  const Status status = apply(&options);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("0xdeadbeef"), HasSubstr("INITIALIZER")));
  options = NCCL_CONFIG_INITIALIZER;
  options.size = 16;
  EXPECT_EQ(apply(&options).code(), Code::kInvalidArgument);
}

TEST(CommConfig, RangesAreThoseOfNccl) {
  const auto refused = [](int ncclConfig_t::*place, int value, const char* name) {
    ncclConfig_t options = NCCL_CONFIG_INITIALIZER;
    options.*place = value;
    const Status status = apply(&options);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << name << " " << value;
    EXPECT_THAT(status.message(), HasSubstr(std::string("config.") + name));
  };
  for (const int value : {-1, 2}) {
    refused(&ncclConfig_t::blocking, value, "blocking");
    refused(&ncclConfig_t::splitShare, value, "splitShare");
    refused(&ncclConfig_t::shrinkShare, value, "shrinkShare");
    refused(&ncclConfig_t::nvlinkCentricSched, value, "nvlinkCentricSched");
    refused(&ncclConfig_t::graphStreamOrdering, value, "graphStreamOrdering");
  }
  refused(&ncclConfig_t::graphUsageMode, 3, "graphUsageMode");
  refused(&ncclConfig_t::minCTAs, 0, "minCTAs");
  refused(&ncclConfig_t::maxCTAs, -3, "maxCTAs");
  refused(&ncclConfig_t::nChannelsPerNetPeer, 65, "nChannelsPerNetPeer");
  refused(&ncclConfig_t::trafficClass, 256, "trafficClass");
  ncclConfig_t options = NCCL_CONFIG_INITIALIZER;
  options.minCTAs = 5;
  options.maxCTAs = 4;
  EXPECT_THAT(apply(&options).message(), HasSubstr("minCTAs 5 is above config.maxCTAs 4"));
}

TEST(CommConfig, AnUnknownNetworkIsToldTheOnesThereAre) {
  ncclConfig_t options = NCCL_CONFIG_INITIALIZER;
  options.netName = "Carrier pigeon";
  const Status status = apply(&options);
  EXPECT_EQ(status.code(), Code::kInvalidUsage);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("Carrier pigeon"), HasSubstr("Socket")));
}

TEST(CommConfig, TheEnvironmentBeatsTheProgram) {
  const std::map<std::string, std::string> environment = {
      {"NCCL_COMM_BLOCKING", "1"},
      {"NCCL_MIN_CTAS", "2"},
      {"NCCL_MAX_CTAS", "8"},
      {"NCCL_NET", "Socket"},
      {"NCCL_COMM_SPLIT_SHARE_RESOURCES", "0"},
      {"NCCL_COMM_SHRINK_SHARE_RESOURCES", "0"}};
  auto config = Config::from([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
  ASSERT_TRUE(config.ok()) << config.status().message();
  ncclConfig_t options = NCCL_CONFIG_INITIALIZER;
  options.blocking = 0;
  options.minCTAs = options.maxCTAs = 1;
  options.splitShare = options.shrinkShare = 1;
  options.netName = "whatever it says, it was overruled";
  ASSERT_TRUE(apply(&options, *config).ok());
  EXPECT_EQ(config->blocking, 1);
  EXPECT_EQ(config->lanes_min, 2);
  EXPECT_EQ(config->lanes_max, 8);
  EXPECT_EQ(config->split_share, 0);
  EXPECT_EQ(config->shrink_share, 0);
}

}  // namespace
}  // namespace strait::api
