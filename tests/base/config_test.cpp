#include "base/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace strait {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Environment = std::map<std::string, std::string>;

Result<Config> read(const Environment& environment) {
  return Config::from([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

std::string failure(const Environment& environment) {
  return read(environment).status().message();
}

TEST(Config, HasTheDefaultsOfTheTable) {
  const Config config;
  EXPECT_EQ(config.slots, 4);
  EXPECT_EQ(config.slot_bytes, 128 << 10);
  EXPECT_EQ(config.compress, "auto");
  EXPECT_EQ(config.link_rate, 0);
  EXPECT_EQ(config.debug, "WARN");
  EXPECT_EQ(read({})->agreed_values(), config.agreed_values());
}

TEST(Config, ReadsEachKindOfSetting) {
  const auto config = read({{"STRAIT_SLOTS", "8"},
                            {"STRAIT_SLOT_BYTES", "64K"},
                            {"STRAIT_LINK_RATE", "2gbit"},
                            {"STRAIT_DOMAIN", "rack 7"},
                            {"STRAIT_COMPRESS", "FAST"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->slots, 8);
  EXPECT_EQ(config->slot_bytes, 65536);
  EXPECT_EQ(config->link_rate, 250'000'000);
  EXPECT_EQ(config->domain, "rack 7");
  EXPECT_EQ(config->compress, "fast");
}

TEST(Config, ABadValueNamesVariableValueAndRange) {
  EXPECT_THAT(failure({{"STRAIT_SLOTS", "0"}}),
              AllOf(HasSubstr("STRAIT_SLOTS"), HasSubstr("\"0\""), HasSubstr("from 1 to 64")));
  EXPECT_THAT(failure({{"STRAIT_SLOTS", "4 "}}), HasSubstr("\"4 \" is not a whole number"));
  EXPECT_THAT(failure({{"STRAIT_SLOT_BYTES", "1K"}}), HasSubstr("from 4K to 64M"));
  EXPECT_THAT(failure({{"STRAIT_SLOT_BYTES", "big"}}), HasSubstr("not a size"));
  EXPECT_THAT(failure({{"STRAIT_LINK_RATE", "-1"}}), HasSubstr("not a rate"));
  EXPECT_THAT(failure({{"STRAIT_COMPRESS", "of"}}),
              AllOf(HasSubstr("STRAIT_COMPRESS"), HasSubstr("auto, off, fast or dense")));
  EXPECT_EQ(read({{"STRAIT_SLOTS", "x"}}).status().code(), Code::kInvalidArgument);
}

TEST(Config, TheRangeIncludesItsEnds) {
  EXPECT_EQ(read({{"STRAIT_SLOTS", "1"}})->slots, 1);
  EXPECT_EQ(read({{"STRAIT_SLOTS", "64"}})->slots, 64);
  EXPECT_FALSE(read({{"STRAIT_SLOTS", "65"}}).ok());
}

TEST(Config, AnNcclNameIsReadWhereOursIsUnset) {
  EXPECT_EQ(read({{"NCCL_DEBUG", "info"}})->debug, "INFO");
  EXPECT_EQ(read({{"NCCL_SOCKET_IFNAME", "^lo"}})->socket_ifname, "^lo");
  EXPECT_EQ(read({{"NCCL_DEBUG", "INFO"}, {"STRAIT_DEBUG", "TRACE"}})->debug, "TRACE");
  EXPECT_EQ(read({{"NCCL_DEBUG", "INFO"}, {"STRAIT_DEBUG", ""}})->debug, "INFO");
}

TEST(Config, ABadNcclValueWarnsAndKeepsTheDefault) {
  testing::internal::CaptureStderr();
  const auto config = read({{"NCCL_DEBUG", "LOUD"}, {"NCCL_NSOCKS_PERTHREAD", "99"}});
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->debug, "WARN");
  EXPECT_EQ(config->sockets, 1);
  EXPECT_THAT(log, AllOf(HasSubstr("NCCL_DEBUG: \"LOUD\""), HasSubstr("STRAIT_SOCKETS=1")));
}

TEST(Config, ReadsTheRealEnvironment) {
  setenv("STRAIT_LANES", "3", 1);
  EXPECT_EQ(Config::from_environment()->lanes, 3);
  unsetenv("STRAIT_LANES");
  EXPECT_EQ(Config::from_environment()->lanes, 0);
}

TEST(Config, SetsOneByName) {
  Config config;
  EXPECT_TRUE(config.set("SLOTS", "2").ok());
  EXPECT_EQ(config.slots, 2);
  EXPECT_THAT(config.set("SLOTS", "no").message(), HasSubstr("STRAIT_SLOTS"));
  EXPECT_EQ(config.slots, 2);
  EXPECT_THAT(config.set("SLOT", "2").message(), HasSubstr("STRAIT_SLOT is not a setting"));
}

TEST(Config, AgreedValuesHoldWhatAllRanksMustShare) {
  Config config;
  ASSERT_TRUE(config.set("SLOT_BYTES", "64K").ok());
  const auto values = config.agreed_values();
  EXPECT_EQ(values.at("SLOT_BYTES"), "65536");
  EXPECT_EQ(values.at("ALGO"), "auto");
  EXPECT_FALSE(values.contains("DEBUG"));
}

TEST(Config, TheTableIsWellFormed) {
  std::set<std::string> names;
  for (const SettingRow& row : setting_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " is there twice";
    EXPECT_STRNE(row.help, "") << row.name;
    const bool text = row.type == SettingType::kText;
    EXPECT_EQ(std::string(row.range).empty(), text) << row.name;
    Config config;
    EXPECT_TRUE(config.set(row.name, row.initial).ok()) << row.name;
  }
}

TEST(UnknownSettings, NameTheNearestThatIsOne) {
  std::vector<std::string> entries = {"STRAIT_SLOT=3",      "STRAIT_SLOTS=3",
                                      "STRAIT_COMPRES=off", "NCCL_WHAT=1",
                                      "MY_STRAIT_SLOT=1",   "STRAIT_STANDIN_DEVICES=4"};
  std::vector<char*> environment;
  for (std::string& entry : entries) environment.push_back(entry.data());
  environment.push_back(nullptr);
  EXPECT_THAT(unknown_settings(environment.data()),
              ElementsAre(AllOf(HasSubstr("STRAIT_SLOT is not"), HasSubstr("mean STRAIT_SLOTS?")),
                          HasSubstr("mean STRAIT_COMPRESS?")));
}

}  // namespace
}  // namespace strait
