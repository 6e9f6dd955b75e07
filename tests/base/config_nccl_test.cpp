// NCCL's variables: how their values are read, and what they mean for our settings.

#include <gmock/gmock.h>

#include <map>

#include "base/config.hpp"

namespace strait {
namespace {

using testing::ElementsAre;

Config config_of(const std::map<std::string, std::string>& values) {
  const Result<Config> config = Config::from([&](const char* name) -> const char* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  });
  EXPECT_TRUE(config.ok()) << config.status().message();
  return config.ok() ? *config : Config();
}

TEST(NcclVariables, IntegersAreReadAsNcclReadsThem) {
  EXPECT_EQ(config_of({{"NCCL_NSOCKS_PERTHREAD", "0x4"}}).sockets, 4);
  EXPECT_EQ(config_of({{"NCCL_NSOCKS_PERTHREAD", "010"}}).sockets, 8);
  for (const char* wrong : {"4 ", "4x", "", "99999999999999999999", "four"})
    EXPECT_EQ(config_of({{"NCCL_NSOCKS_PERTHREAD", wrong}}).sockets, Config().sockets) << wrong;
}

TEST(NcclVariables, TheBufferSizeIsSharedOutOverTheSlots) {
  EXPECT_EQ(config_of({{"NCCL_BUFFSIZE", "4194304"}}).slot_bytes, 1 << 20);
  EXPECT_EQ(config_of({{"NCCL_BUFFSIZE", "4194304"}, {"STRAIT_SLOTS", "8"}}).slot_bytes, 1 << 19);
  EXPECT_EQ(config_of({{"NCCL_BUFFSIZE", "1"}}).slot_bytes, 4 << 10);
  EXPECT_EQ(config_of({{"NCCL_BUFFSIZE", "4194304"}, {"STRAIT_SLOT_BYTES", "64K"}}).slot_bytes,
            64 << 10);
  EXPECT_EQ(config_of({{"NCCL_BUFFSIZE", "4M"}}).slot_bytes, Config().slot_bytes)
      << "NCCL knows no units";
}

TEST(NcclVariables, TransportsCanBeTurnedOff) {
  EXPECT_EQ(config_of({{"NCCL_SHM_DISABLE", "1"}}).transports, "inproc,verbs,tcp");
  EXPECT_EQ(config_of({{"NCCL_P2P_DISABLE", "1"}}).transports, "shm,verbs,tcp");
  EXPECT_EQ(config_of({{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}}).transports,
            "verbs,tcp");
  EXPECT_EQ(config_of({{"NCCL_SHM_DISABLE", "1"}, {"STRAIT_TRANSPORTS", "shm,tcp"}}).transports,
            "shm,tcp");
}

TEST(NcclVariables, AlgorithmsMayBeNamedByFunction) {
  EXPECT_EQ(config_of({{"NCCL_ALGO", "allreduce:tree;ring"}}).algorithm, "allreduce:tree;ring");
  EXPECT_EQ(config_of({{"NCCL_ALGO", "trie"}}).algorithm, "auto");
}

TEST(NcclVariables, OthersAreNoMatter) {
  EXPECT_EQ(config_of({{"NCCL_PROTO", "Simple"}, {"NCCL_NO_SUCH_THING", "x"}}).agreed_values(),
            Config().agreed_values());
}

TEST(NcclVariables, WhatIsSetIsListed) {
  EXPECT_THAT(
      config_of({{"NCCL_ALGO", "ring"}, {"STRAIT_SLOTS", "8"}, {"NCCL_PROTO", "LL"}})
          .set_by_environment(),
      ElementsAre("NCCL_ALGO set by environment to ring", "STRAIT_SLOTS set by environment to 8"));
}

}  // namespace
}  // namespace strait
