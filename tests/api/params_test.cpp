// Parameters by name: handles, types, ranges, and what stays untouched when a name is unknown.

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>

#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ncclParamHandle_t handle_of(const char* key) {
  ncclParamHandle_t handle = nullptr;
  EXPECT_EQ(ncclParamBind(&handle, key), ncclSuccess) << ncclGetLastError(nullptr);
  return handle;
}

TEST(Params, NumbersAreReadInTheTypeThatIsAskedFor) {
  const Environment environment(Settings{{"NCCL_NSOCKS_PERTHREAD", "3"}});
  const ncclParamHandle_t handle = handle_of("NCCL_NSOCKS_PERTHREAD");
  EXPECT_EQ(handle, handle_of("NCCL_NSOCKS_PERTHREAD"));
  const auto reads = [&](auto get, auto value) {
    EXPECT_EQ(get(handle, &value), ncclSuccess);
    EXPECT_EQ(value, 3);
    EXPECT_EQ(get(handle, nullptr), ncclInvalidArgument);
    EXPECT_EQ(get(nullptr, &value), ncclInvalidArgument);
  };
  reads(ncclParamGetI8, int8_t{});
  reads(ncclParamGetI16, int16_t{});
  reads(ncclParamGetI32, int32_t{});
  reads(ncclParamGetI64, int64_t{});
  reads(ncclParamGetU8, uint8_t{});
  reads(ncclParamGetU16, uint16_t{});
  reads(ncclParamGetU32, uint32_t{});
  reads(ncclParamGetU64, uint64_t{});
}

TEST(Params, ANumberThatDoesNotFitLeavesTheOutputAlone) {
  int8_t small = 17;
  EXPECT_EQ(ncclParamGetI8(handle_of("STRAIT_SLOT_BYTES"), &small), ncclInvalidArgument);
  EXPECT_EQ(small, 17);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("STRAIT_SLOT_BYTES is 131072"));
  uint64_t natural = 17;
  EXPECT_EQ(ncclParamGetU64(handle_of("STRAIT_RMA_SIGNALS"), &natural), ncclInvalidArgument);
  EXPECT_EQ(natural, 17U) << "-1 is no natural number";
}

TEST(Params, ValuesAreThoseOfNow) {
  const ncclParamHandle_t handle = handle_of("NCCL_DEBUG");
  const char* text = nullptr;
  ASSERT_EQ(ncclParamGetStr(handle, &text), ncclSuccess);
  EXPECT_STREQ(text, "WARN");
  const Environment environment(Settings{{"NCCL_DEBUG", "version"}});
  ASSERT_EQ(ncclParamGetStr(handle, &text), ncclSuccess);
  EXPECT_STREQ(text, "VERSION");
}

TEST(Params, TextsBelongToTheThread) {
  const char* mine = nullptr;
  ASSERT_EQ(ncclParamGetStr(handle_of("STRAIT_TRANSPORTS"), &mine), ncclSuccess);
  std::thread other([&] {
    const char* theirs = nullptr;
    ASSERT_EQ(ncclParamGetStr(handle_of("NCCL_DEBUG"), &theirs), ncclSuccess);
    EXPECT_NE(theirs, mine);
  });
  other.join();
  EXPECT_STREQ(mine, "inproc,shm,verbs,tcp");
}

TEST(Params, TypesAreKept) {
  const char* text = "before";
  EXPECT_EQ(ncclParamGetStr(handle_of("STRAIT_SLOTS"), &text), ncclInvalidArgument);
  EXPECT_STREQ(text, "before");
  int64_t number = 5;
  EXPECT_EQ(ncclParamGetI64(handle_of("NCCL_DEBUG"), &number), ncclInvalidArgument);
  EXPECT_EQ(number, 5);
}

TEST(Params, BytesAreCopiedWhereThereIsRoom) {
  int64_t number = 0;
  int length = -1;
  EXPECT_EQ(ncclParamGet(handle_of("STRAIT_SLOTS"), &number, 8, &length), ncclSuccess);
  EXPECT_EQ(number, 4);
  EXPECT_EQ(length, 8);
  char text[8] = "before";
  EXPECT_EQ(ncclParamGet(handle_of("NCCL_DEBUG"), text, 5, &length), ncclSuccess);
  EXPECT_STREQ(text, "WARN");
  EXPECT_EQ(length, 5);
  EXPECT_EQ(ncclParamGet(handle_of("NCCL_DEBUG"), text, 4, &length), ncclInvalidArgument);
  EXPECT_EQ(ncclParamGet(handle_of("NCCL_DEBUG"), text, -1, &length), ncclInvalidArgument);
  EXPECT_EQ(length, 5);
}

TEST(Params, AnUnknownNameChangesNothing) {
  ncclParamHandle_t handle = handle_of("NCCL_DEBUG");
  const ncclParamHandle_t before = handle;
  EXPECT_EQ(ncclParamBind(&handle, "NCCL_NO_SUCH_THING"), ncclInvalidArgument);
  EXPECT_EQ(handle, before);
  EXPECT_THAT(ncclGetLastError(nullptr),
              AllOf(HasSubstr("no parameter NCCL_NO_SUCH_THING"), HasSubstr("AllParameterKeys")));
  const char* text = "before";
  int length = 42;
  EXPECT_EQ(ncclParamGetParameter("NCCL_NO_SUCH_THING", &text, &length), ncclInvalidArgument);
  EXPECT_STREQ(text, "before");
  EXPECT_EQ(length, 42);
  EXPECT_EQ(ncclParamBind(nullptr, "NCCL_DEBUG"), ncclInvalidArgument);
  EXPECT_EQ(ncclParamBind(&handle, nullptr), ncclInvalidArgument);
  int garbage[8] = {};
  int32_t value = 0;
  EXPECT_EQ(ncclParamGetI32(reinterpret_cast<ncclParamHandle_t>(garbage), &value),
            ncclInvalidArgument);
}

TEST(Params, EveryKeyHasAValueAsText) {
  const char** keys = nullptr;
  int count = 0;
  ASSERT_EQ(ncclParamGetAllParameterKeys(&keys, &count), ncclSuccess);
  ASSERT_GT(count, 30);
  std::vector<std::string> all(keys, keys + count);
  for (const std::string& key : all) {
    const char* text = nullptr;
    int length = -1;
    ASSERT_EQ(ncclParamGetParameter(key.c_str(), &text, &length), ncclSuccess) << key;
    EXPECT_EQ(std::strlen(text), static_cast<size_t>(length)) << key;
  }
  EXPECT_THAT(all, testing::Contains("NCCL_DEBUG"));
  EXPECT_THAT(all, testing::Contains("STRAIT_COMPRESS"));
  EXPECT_EQ(ncclParamGetAllParameterKeys(nullptr, &count), ncclInvalidArgument);
  EXPECT_EQ(ncclParamGetAllParameterKeys(&keys, nullptr), ncclInvalidArgument);
}

TEST(Params, DumpListsThemAll) {
  testing::internal::CaptureStdout();
  ncclParamDumpAll();
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, AllOf(HasSubstr("NCCL_DEBUG=WARN "), HasSubstr("STRAIT_SLOTS=4 ")));
}

TEST(Params, PointersAreLookedAtWhereThatIsAskedFor) {
  const std::vector<Settings> asking = {{{"NCCL_CHECK_POINTERS", "1"}},
                                        {{"NCCL_CHECK_MODE", "DEBUG_LOCAL"}},
                                        {{"NCCL_CHECK_MODE", "DEBUG_GLOBAL"}}};
  for (const Settings& settings : asking)
    run_world(1, settings, [](int, ncclComm_t comm) {
      std::vector<float> values(1000, 2);
      auto* const wild = reinterpret_cast<float*>(0x1000);
      float* const data = values.data();
      EXPECT_EQ(ncclAllReduce(wild, data, 1000, ncclFloat, ncclSum, comm, nullptr),
                ncclInvalidArgument);
      EXPECT_THAT(ncclGetLastError(comm), HasSubstr("there is no memory for 1000 elements"));
      EXPECT_EQ(ncclAllReduce(data, wild, 1000, ncclFloat, ncclSum, comm, nullptr),
                ncclInvalidArgument);
      EXPECT_EQ(ncclAllReduce(data, data, 1000, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
    });
}

TEST(Params, DebugSettingsCanBeReadAgain) {
  const std::string path = testing::TempDir() + "strait_reset_debug.log";
  std::remove(path.c_str());
  ncclComm_t comm = nullptr;
  {
    const Environment environment(Settings{{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_FILE", path}});
    ncclResetDebugInit();
    pncclResetDebugInit();
    EXPECT_TRUE(std::ifstream(path).good()) << "the log file is opened";
  }
  ncclResetDebugInit();
  EXPECT_EQ(ncclCommInitAll(&comm, 1, nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

}  // namespace
}  // namespace strait::test
