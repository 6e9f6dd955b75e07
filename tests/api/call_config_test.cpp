// The calls with settings of their own: structs of both versions, lanes, algorithms, compression,
// and what is refused.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <barrier>
#include <cstring>
#include <fstream>
#include <sstream>

#include "strait.h"
#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ncclCollConfig_t fresh() {
  return NCCL_COLLCONFIG_INITIALIZER;
}

ncclResult_t sum(std::vector<float>& values, ncclComm_t comm, const ncclCollConfig_t* config) {
  return ncclAllReduceConfig(values.data(), values.data(), values.size(), ncclFloat, ncclSum, comm,
                             nullptr, config);
}

// Runs body in a world of two and returns the log lines about the chosen plans.
std::string plans_of(const std::function<void(int, ncclComm_t)>& body) {
  // Another file each time: the log stays open while its path stays the same.
  static int files = 0;
  const std::string path =
      fmt::format("{}strait_call_config_{}_{}.log", testing::TempDir(), getpid(), files++);
  run_world(2, {{"STRAIT_DEBUG", "INFO"}, {"STRAIT_DEBUG_FILE", path}}, body);
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::remove(path.c_str());
  return text.str();
}

std::string plan_with(const ncclCollConfig_t& config) {
  return plans_of([&](int rank, ncclComm_t comm) {
    std::vector<float> values(1 << 20, static_cast<float>(rank + 1));
    ASSERT_EQ(sum(values, comm, &config), ncclSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(values, std::vector<float>(1 << 20, 3.0F));
  });
}

TEST(CallConfig, AllEightCallsDoWhatThePlainOnesDo) {
  run_world(3, {}, [](int rank, ncclComm_t comm) {
    const ncclCollConfig_t config = fresh();
    constexpr size_t kCount = 5;
    const int mine = rank + 1;
    std::vector<int> in(3 * kCount, mine);
    std::vector<int> out(3 * kCount, 0);
    const auto head = [&](int value) { return std::vector<int>(kCount, value); };
    const auto block = [&](int index) {
      return std::vector<int>(out.begin() + index * kCount, out.begin() + (index + 1) * kCount);
    };
    ASSERT_EQ(ncclAllReduceConfig(in.data(), out.data(), kCount, ncclInt, ncclSum, comm, nullptr,
                                  &config),
              ncclSuccess);
    EXPECT_EQ(block(0), head(6));
    ASSERT_EQ(
        ncclBroadcastConfig(in.data(), out.data(), kCount, ncclInt, 1, comm, nullptr, &config),
        ncclSuccess);
    EXPECT_EQ(block(0), head(2));
    ASSERT_EQ(ncclReduceConfig(in.data(), out.data(), kCount, ncclInt, ncclMax, 2, comm, nullptr,
                               &config),
              ncclSuccess);
    EXPECT_EQ(block(0), head(rank == 2 ? 3 : 2));
    ASSERT_EQ(ncclAllGatherConfig(in.data(), out.data(), kCount, ncclInt, comm, nullptr, &config),
              ncclSuccess);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(block(i), head(i + 1));
    ASSERT_EQ(ncclReduceScatterConfig(in.data(), out.data(), kCount, ncclInt, ncclSum, comm,
                                      nullptr, &config),
              ncclSuccess);
    EXPECT_EQ(block(0), head(6));
    ASSERT_EQ(ncclAlltoAllConfig(in.data(), out.data(), kCount, ncclInt, comm, nullptr, &config),
              ncclSuccess);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(block(i), head(i + 1));
    ASSERT_EQ(ncclGatherConfig(in.data(), out.data(), kCount, ncclInt, 0, comm, nullptr, &config),
              ncclSuccess);
    for (int i = 0; i < 3 && rank == 0; ++i) EXPECT_EQ(block(i), head(i + 1));
    ASSERT_EQ(ncclScatterConfig(in.data(), out.data(), kCount, ncclInt, 2, comm, nullptr, &config),
              ncclSuccess);
    EXPECT_EQ(block(0), head(3));
    EXPECT_EQ(ncclScatterConfig(in.data(), out.data(), kCount, ncclInt, 1, comm, nullptr, nullptr),
              ncclSuccess);
    EXPECT_EQ(block(0), head(2));
  });
}

TEST(CallConfig, CtasAreLanes) {
  ncclCollConfig_t config = fresh();
  config.maxCTAs = 2;
  EXPECT_THAT(plan_with(config), HasSubstr(", 2 lanes,"));
  config.maxCTAs = 1000;
  config.minCTAs = 7;
  EXPECT_THAT(plan_with(config), HasSubstr(", 7 lanes,"));
  config.minCTAs = -3;  // as NCCL, which accepts any
  config.maxCTAs = 0;
  EXPECT_THAT(plan_with(config), HasSubstr(", 4 lanes,"));
}

TEST(CallConfig, AlgorithmsAreOnesOfTheList) {
  ncclCollConfig_t config = fresh();
  for (const char* name : {"ring", "TREE", "two_shot"}) {
    config.algSelection = name;
    const std::string lower = name[0] == 'T' ? "tree" : name;
    EXPECT_THAT(plan_with(config), HasSubstr(": " + lower + ",")) << name;
  }
  config.algSelection = "^two_shot,hierarchical,ring";
  EXPECT_THAT(plan_with(config), HasSubstr(": tree,"));
  config.algSelection = "nvls";
  config.forceAlgSelection = 0;
  EXPECT_THAT(plan_with(config), HasSubstr(": two_shot,"));
  config.algSelection = "no such thing";
  EXPECT_THAT(plan_with(config), HasSubstr("is no algorithm; auto always works; choosing freely"));
}

TEST(CallConfig, TheEnvironmentComesFirst) {
  const Environment environment(Settings{{"NCCL_ALGO", "allreduce:ring"}});
  ncclCollConfig_t config = fresh();
  config.algSelection = "tree";
  EXPECT_THAT(plan_with(config), HasSubstr(": ring,"));
}

TEST(CallConfig, ASelectionThatLeavesNothingIsRefusedUnlessItMayBeIgnored) {
  run_world(2, {}, [](int rank, ncclComm_t comm) {
    ncclCollConfig_t config = fresh();
    config.algSelection = "ring,tree";
    int in[2] = {1, 2};
    int out[2] = {};
    EXPECT_EQ(ncclAlltoAllConfig(in, out, 1, ncclInt, comm, nullptr, &config), ncclInvalidArgument);
    if (rank == 0) {
      EXPECT_THAT(ncclGetLastError(comm),
                  AllOf(HasSubstr("all_to_all has none"), HasSubstr("set forceAlgSelection to 0")));
    }
    config.forceAlgSelection = 0;
    EXPECT_EQ(ncclAlltoAllConfig(in, out, 1, ncclInt, comm, nullptr, &config), ncclSuccess);
    EXPECT_EQ(out[1], rank + 1);
  });
}

uint64_t wire_bytes_with(int option_id, int value) {
  uint64_t bytes = 0;
  run_world(2, {{"STRAIT_EMULATE_DOMAINS", "1"}}, [&](int rank, ncclComm_t comm) {
    // Of another vendor first: ignored.
    ncclConfigExt_t option = {nullptr, {STRAIT_VENDOR_ID, option_id}, {value}};
    ncclConfigExt_t other = {&option, {STRAIT_VENDOR_ID + 1, 99}, {-5}};
    ncclCollConfig_t config = fresh();
    config.ext = &other;
    std::vector<float> values(1 << 20, 0.5F);
    ASSERT_EQ(sum(values, comm, &config), ncclSuccess) << ncclGetLastError(comm);
    EXPECT_EQ(values, std::vector<float>(1 << 20, 1.0F));
    straitCommStats_t stats{};
    stats.size = sizeof stats;
    ASSERT_EQ(straitCommGetStats(comm, &stats), ncclSuccess);
    if (rank == 0) bytes = stats.coded_wire_bytes_sent;
  });
  return bytes;
}

TEST(CallConfig, CompressionIsChosenByCall) {
  const uint64_t plain = wire_bytes_with(STRAIT_OPTION_COMPRESS, STRAIT_COMPRESS_OFF);
  EXPECT_GT(plain, uint64_t{4} << 20);
  EXPECT_LT(wire_bytes_with(STRAIT_OPTION_COMPRESS, STRAIT_COMPRESS_FAST), plain);
  EXPECT_LT(wire_bytes_with(STRAIT_OPTION_COMPRESS, STRAIT_COMPRESS_DENSE), plain);
}

TEST(CallConfig, ChecksumsAreChosenByCall) {
  // One bit of a raw chunk changes on the way: only a checksum notices.
  const Settings settings = {{"STRAIT_EMULATE_DOMAINS", "1"},
                             {"STRAIT_COMPRESS", "off"},
                             {"STRAIT_FAULT", "seed=3,corrupt_after=2"},
                             {"STRAIT_TIMEOUT_MS", "5000"}};
  for (const int checksum : {0, 1}) {
    run_world(2, settings, [&](int rank, ncclComm_t comm) {
      ncclConfigExt_t option = {nullptr, {STRAIT_VENDOR_ID, STRAIT_OPTION_CHECKSUM}, {checksum}};
      ncclCollConfig_t config = fresh();
      config.ext = &option;
      std::vector<float> values(1 << 20, 0.5F);
      const ncclResult_t result = sum(values, comm, &config);
      if (checksum == 0) {
        EXPECT_EQ(result, ncclSuccess) << ncclGetLastError(comm);
      } else if (rank == 0) {
        EXPECT_NE(result, ncclSuccess);
      }
    });
  }
}

TEST(CallConfig, BothVersionsOfTheStructAreRead) {
  run_world(2, {}, [](int, ncclComm_t comm) {
    std::vector<float> values(8, 1);
    // What lies behind the struct of 2.31 belongs to somebody else.
    ncclCollConfig_t config = fresh();
    config.size = 64;
    config.version = NCCL_VERSION(2, 31, 2);
    std::memset(&config.launchCompletionEvent, 0xab, sizeof config.launchCompletionEvent);
    EXPECT_EQ(sum(values, comm, &config), ncclSuccess) << ncclGetLastError(comm);
    config.size = sizeof config;  // its version says that there is no such field
    EXPECT_EQ(sum(values, comm, &config), ncclSuccess) << ncclGetLastError(comm);
    struct {
      ncclCollConfig_t known = NCCL_COLLCONFIG_INITIALIZER;
      uint64_t future[4] = {1, 2, 3, 4};
    } newer;
    newer.known.size = sizeof newer;
    newer.known.version = NCCL_VERSION(2, 40, 0);
    EXPECT_EQ(sum(values, comm, &newer.known), ncclSuccess) << ncclGetLastError(comm);
  });
}

TEST(CallConfig, BadOnesAreRefusedBeforeAnythingElseAndSpoilNoGroup) {
  std::barrier heard(2);
  run_world(2, {}, [&](int rank, ncclComm_t comm) {
    std::vector<float> values(8, 1);
    const auto refused = [&](const ncclCollConfig_t& config, const char* part) {
      EXPECT_EQ(sum(values, comm, &config), ncclInvalidArgument) << part;
      if (rank == 0) {
        EXPECT_THAT(ncclGetLastError(comm), HasSubstr(part));
      }
      EXPECT_EQ(sum(values, nullptr, &config), ncclInvalidArgument) << part;
      if (rank == 0) {
        EXPECT_THAT(ncclGetLastError(comm), HasSubstr(part));
      }
    };
    if (rank == 0) {  // the last error belongs to the whole process
      ncclCollConfig_t config = fresh();
      config.magic = 0x1234;
      refused(config, "start from NCCL_COLLCONFIG_INITIALIZER");
      config = fresh();
      config.size = 56;
      refused(config, "size 56");
      config = fresh();
      config.forceAlgSelection = 2;
      refused(config, "forceAlgSelection is 2: it must be 0 or 1");
      config = fresh();
      config.CTAPolicy = 4;
      refused(config, "CTAPolicy is 4");
      config = fresh();
      config.launchCompletionEvent = reinterpret_cast<cudaEvent_t>(&config);
      refused(config, "launchCompletionEvent");
      config = fresh();
      config.algSelection = "ring,rign";
      refused(config, "algSelection: 'rign' is no algorithm");
      config = fresh();
      ncclConfigExt_t option = {nullptr, {STRAIT_VENDOR_ID, STRAIT_OPTION_COMPRESS}, {9}};
      config.ext = &option;
      refused(config, "STRAIT_OPTION_COMPRESS is 9");
      option = {nullptr, {STRAIT_VENDOR_ID, STRAIT_OPTION_CHECKSUM}, {2}};
      refused(config, "STRAIT_OPTION_CHECKSUM is 2: it must be 0 or 1");
      option.key.optionId = 77;
      refused(config, "no option 77");
      option.key.vendorId = 1;
      option.next = &option;
      refused(config, "has no end");
    }
    heard.arrive_and_wait();
    ncclCollConfig_t bad = fresh();
    bad.magic = 0;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(sum(values, comm, &bad), ncclInvalidArgument);
    EXPECT_EQ(sum(values, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(values, std::vector<float>(8, 2));
  });
}

TEST(CallConfig, RanksThatDifferInWhatChangesThePlanAreTold) {
  run_world(2, {{"STRAIT_TIMEOUT_MS", "1000"}}, [](int rank, ncclComm_t comm) {
    ncclCollConfig_t config = fresh();
    config.maxCTAs = rank == 0 ? 1 : 3;
    config.algSelection = "ring";
    std::vector<float> values(1 << 20, 1);
    EXPECT_NE(sum(values, comm, &config), ncclSuccess);
  });
}

}  // namespace
}  // namespace strait::test
