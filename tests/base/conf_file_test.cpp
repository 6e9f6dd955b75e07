// Configuration files as NCCL reads them, and what comes first.

#include "base/conf_file.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/config.hpp"

namespace strait {
namespace {

std::string write_file(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "strait_conf_" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(ConfFile, LinesAreNamesAndValues) {
  ConfFiles files;
  files.add(
      "# a comment\nNCCL_DEBUG=WARN\n  STRAIT_SLOTS = 8 \r\n#NCCL_ALGO=ring\nnothing\n=x\n"
      "NCCL_DEBUG=INFO\nLAST=a=b");
  EXPECT_STREQ(files.find("NCCL_DEBUG"), "WARN") << "the first line stays";
  EXPECT_STREQ(files.find("STRAIT_SLOTS"), "8");
  EXPECT_STREQ(files.find("LAST"), "a=b");
  for (const char* absent : {"NCCL_ALGO", "#NCCL_ALGO", "nothing", "", "x"})
    EXPECT_EQ(files.find(absent), nullptr) << absent;
}

TEST(ConfFile, LongLinesAndNamesAreSkipped) {
  ConfFiles files;
  files.add("A=" + std::string(4095, 'x') + "\n" + std::string(1025, 'N') + "=1\nB=2\n");
  EXPECT_EQ(files.find("A"), nullptr);
  EXPECT_EQ(files.find(std::string(1025, 'N')), nullptr);
  EXPECT_STREQ(files.find("B"), "2");
}

TEST(ConfFile, TheEnvironmentComesFirstThenTheUsersFileThenTheMachines) {
  const std::string user = write_file("user", "STRAIT_SLOTS=7\nSTRAIT_LANES=3\n");
  const std::string machine = write_file("machine", "STRAIT_LANES=5\nSTRAIT_SOCKETS=2\n");
  const ConfFiles files = ConfFiles::read(user.c_str(), "/nowhere", machine);
  EXPECT_STREQ(files.find("STRAIT_LANES"), "3");
  EXPECT_STREQ(files.find("STRAIT_SOCKETS"), "2");
  setenv("NCCL_CONF_FILE", user.c_str(), 1);
  setenv("STRAIT_SLOTS", "9", 1);
  const Result<Config> config = Config::from_environment();
  unsetenv("STRAIT_SLOTS");
  unsetenv("NCCL_CONF_FILE");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->slots, 9);
  EXPECT_EQ(config->lanes, 3);
  EXPECT_EQ(std::getenv("STRAIT_LANES"), nullptr) << "the environment is left alone";
}

TEST(ConfFile, TheFileInTheHomeDirectoryIsReadUnlessAnotherIsNamed) {
  const std::string home = testing::TempDir() + "strait_conf_home";
  std::filesystem::create_directories(home);
  std::ofstream(home + "/.nccl.conf") << "NCCL_ALGO=tree\n";
  EXPECT_STREQ(ConfFiles::read(nullptr, home.c_str(), "/nowhere").find("NCCL_ALGO"), "tree");
  EXPECT_STREQ(ConfFiles::read("", home.c_str(), "/nowhere").find("NCCL_ALGO"), "tree");
  EXPECT_EQ(ConfFiles::read("/nowhere/at/all", home.c_str(), "/nowhere").find("NCCL_ALGO"),
            nullptr);
  EXPECT_EQ(ConfFiles::read(nullptr, nullptr, "/nowhere").find("NCCL_ALGO"), nullptr);
}

}  // namespace
}  // namespace strait
