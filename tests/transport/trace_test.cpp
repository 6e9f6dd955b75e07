// A trace is valid JSON with one event for each thing that a link did.
#include "transport/trace/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "transport/inproc/inproc.hpp"
#include "transport/test_ranks.hpp"

namespace strait::test {
namespace {

class TraceFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  ~TraceFile() override { std::filesystem::remove_all(folder_); }

  nlohmann::json read(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    return nlohmann::json::parse(file);
  }

  const std::string folder_ = testing::TempDir() + "/strait-trace-" + std::to_string(getpid());
};

void send_three(const std::string& file) {
  TestRank zero(traced(open_inproc, file), 0);
  TestRank one(traced(open_inproc, file), 1);
  LinkPair pair = open_pair(zero, one, LinkSpec{0, 1, 2, 4, 64});
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(send_numbered(zero, *pair.send, i, 10 + i));
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(receive_numbered(one, *pair.recv, i, 10 + i));
}

TEST_F(TraceFile, HasEveryEventOfEachRank) {
  send_three(folder_ + "/rank-%r.json");
  uint32_t commits = 0;
  for (const auto& event : read("rank-0.json"))
    if (event["name"] == "commit") {
      EXPECT_EQ(event["ph"], "i");
      EXPECT_EQ(event["pid"], 0);
      EXPECT_EQ(event["args"]["bytes"], 10 + commits);
      EXPECT_EQ(event["args"]["tag"], commits);
      ++commits;
    }
  EXPECT_EQ(commits, 3u);
  std::map<std::string, int> phases;
  std::string link;
  for (const auto& event : read("rank-1.json")) {
    if (event["name"] == "message") ++phases[event["ph"]];
    if (event["name"] == "thread_name") link = event["args"]["name"];
  }
  EXPECT_EQ(phases, (std::map<std::string, int>{{"B", 3}, {"E", 3}}));
  EXPECT_EQ(link, "inproc 0->1 lane 2");
}

TEST_F(TraceFile, RanksKeepFilesOfTheirOwn) {
  send_three(folder_ + "/trace.json");
  EXPECT_EQ(read("trace.json.0")[0]["args"]["name"], "rank 0");
  EXPECT_EQ(read("trace.json.1")[0]["args"]["name"], "rank 1");
}

TEST_F(TraceFile, OldestEventsMakeRoom) {
  {
    TraceSink sink(folder_ + "/long.json", 5);
    const auto ring = sink.open_ring("a link");
    for (uint32_t i = 0; i < TraceRing::kRecords + 7; ++i) ring->write(TraceKind::kCommit, 1, i);
  }
  const auto events = read("long.json.5");
  EXPECT_EQ(events.size(), TraceRing::kRecords + 2);
  EXPECT_EQ(events[2]["args"]["tag"], 7);
  EXPECT_EQ(events.back()["args"]["tag"], TraceRing::kRecords + 6);
}

TEST_F(TraceFile, NoFileIsNoCrash) {
  testing::internal::CaptureStderr();
  { TraceSink sink(folder_ + "/no/such/folder/t.json", 0); }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("STRAIT_TRACE_FILE"));
}

}  // namespace
}  // namespace strait::test
