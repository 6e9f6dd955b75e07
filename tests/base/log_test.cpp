#include "base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace strait {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class Log : public testing::Test {
 protected:
  Log() : folder_(testing::TempDir() + "strait-log-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~Log() override {
    set_log("WARN", "");
    std::filesystem::remove_all(folder_);
  }

  std::string file(const std::string& name) const { return folder_ + "/" + name; }

  static std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream stream(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

 private:
  std::string folder_;
};

TEST_F(Log, PrintsWarningsToStandardErrorByDefault) {
  testing::internal::CaptureStderr();
  log_warn("{} of {} ranks", 1, 2);
  log_info("not shown");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, MatchesRegex("[^:. ]+:[0-9]+:[0-9]+ STRAIT WARN 1 of 2 ranks\n"));
}

TEST_F(Log, LevelsIncludeTheOnesBelow) {
  set_log("TRACE", "");
  EXPECT_TRUE(log_enabled(LogLevel::kInfo));
  set_log("INFO", "");
  EXPECT_TRUE(log_enabled(LogLevel::kInfo));
  EXPECT_FALSE(log_enabled(LogLevel::kTrace));
  set_log("NONE", "");
  EXPECT_FALSE(log_enabled(LogLevel::kWarn));
}

TEST_F(Log, SaysOnlyWhatSomebodyWantsToHearOf) {
  const auto heard = [&](const std::string& parts) {
    set_log("INFO", file("parts"), parts);
    log_info(LogPart::kNet, "net");
    log_info(LogPart::kEnv, "env");
    log_info(LogPart::kInit | LogPart::kP2p, "init or p2p");
    log_info("init");
    std::string text;
    for (const std::string& line : lines_of(file("parts")))
      text += line.substr(line.find("INFO") + 5) + ";";
    set_log("INFO", "", parts);
    std::filesystem::remove(file("parts"));
    return text;
  };
  EXPECT_EQ(heard(""), "net;env;init or p2p;init;");
  EXPECT_EQ(heard("ALL"), "net;env;init or p2p;init;");
  EXPECT_EQ(heard("NET"), "net;");
  EXPECT_EQ(heard("env,p2p"), "env;init or p2p;");
  EXPECT_EQ(heard("^NET,ENV"), "init or p2p;init;");
  EXPECT_EQ(heard("^ALL"), "");
  EXPECT_EQ(heard("COLL,RAS"), "");
}

TEST_F(Log, WarningsAreOfNoPartAndUnknownPartsAreTold) {
  testing::internal::CaptureStderr();
  set_log("INFO", "", "NET,wire,^");
  log_warn("heard");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("names WIRE, ^, of which nothing is known"),
                             HasSubstr("BOOTSTRAP, REG, PROFILE"), HasSubstr("WARN heard")));
}

TEST_F(Log, WritesToAFileNamedByHostAndProcess) {
  set_log("INFO", file("%h.%p.%%.log"));
  log_info("hello");
  set_log("WARN", "");
  std::string host(256, '\0');
  gethostname(host.data(), host.size());
  host = host.substr(0, host.find_first_of(std::string(".\0", 2)));
  const auto lines = lines_of(file(host + "." + std::to_string(getpid()) + ".%.log"));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("STRAIT INFO hello"));
}

TEST_F(Log, ASecondCommunicatorKeepsTheFile) {
  for (int communicator = 0; communicator < 2; ++communicator) {
    set_log("INFO", file("log"));
    log_info("communicator {}", communicator);
  }
  EXPECT_EQ(lines_of(file("log")).size(), 2u);
}

TEST_F(Log, AFileThatCannotBeOpenedIsToldOnStandardError) {
  testing::internal::CaptureStderr();
  set_log("WARN", file("no/such/folder/log"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("cannot be opened"));
}

TEST_F(Log, LinesOfManyThreadsDoNotMix) {
  set_log("INFO", file("log"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) log_info("{}", std::string(100, 'x'));
    });
  for (std::thread& thread : threads) thread.join();
  const auto lines = lines_of(file("log"));
  EXPECT_EQ(lines.size(), 800u);
  for (const std::string& line : lines)
    ASSERT_TRUE(line.ends_with("STRAIT INFO " + std::string(100, 'x'))) << line;
}

}  // namespace
}  // namespace strait
