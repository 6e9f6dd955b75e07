#include "base/memory_room.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace strait {
namespace {

using testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30;

// A captured machine: a folder of the files that are read.
class CapturedMachine : public testing::Test {
 protected:
  ~CapturedMachine() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  const std::string root_ = testing::TempDir() + "/strait-machine-" + std::to_string(getpid());
};

TEST_F(CapturedMachine, WithoutLimits) {
  write("proc/meminfo", "MemTotal: 100 kB\nMemAvailable:    2097152 kB\nBuffers: 1 kB\n");
  write("proc/self/cgroup", "0::/user.slice\n");
  write("sys/fs/cgroup/user.slice/memory.max", "max\n");
  write("sys/fs/cgroup/user.slice/memory.current", "123\n");
  EXPECT_EQ(memory_room(root_), (MemoryRoom{.machine_bytes = 2 * kGiB, .cgroup_bytes = {}}));
}

TEST_F(CapturedMachine, Version2TakesTheTightestGroupAndCountsDroppablePagesAsFree) {
  write("proc/meminfo", "MemAvailable: 2097152 kB\n");
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/step/memory.current", "100\n");
  write("sys/fs/cgroup/job/memory.max", "1000\n");
  write("sys/fs/cgroup/job/memory.current", "700\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 400\ninactive_file 300\n");
  EXPECT_EQ(memory_room(root_).cgroup_bytes, 600u);
}

TEST_F(CapturedMachine, Version2InAContainerSeesItsOwnGroupAtTheTop) {
  write("proc/self/cgroup", "0::/docker/0123\n");
  write("sys/fs/cgroup/memory.max", "500\n");
  write("sys/fs/cgroup/memory.current", "800\n");
  EXPECT_EQ(memory_room(root_), (MemoryRoom{.machine_bytes = {}, .cgroup_bytes = 0}));
}

TEST_F(CapturedMachine, Version1) {
  write("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/job\n0::/\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "900\n");
  EXPECT_EQ(memory_room(root_).cgroup_bytes, 100u);
}

TEST_F(CapturedMachine, NothingToReadIsNoLimit) {
  EXPECT_EQ(memory_room(root_), MemoryRoom{});
  EXPECT_TRUE(fits(memory_room(root_), kGiB, "a link").ok());
}

TEST(MemoryRoom, OfThisMachineIsKnown) {
  EXPECT_GT(memory_room().machine_bytes.value_or(0), 0u);
}

TEST(Fits, SaysNeedHaveAndRemedy) {
  const MemoryRoom room{.machine_bytes = 10 * kGiB, .cgroup_bytes = kGiB};
  EXPECT_TRUE(fits(room, kGiB, "a link").ok());
  const std::string group = fits(room, 2 * kGiB, "link 0->1 lane 0").message();
  EXPECT_THAT(group, HasSubstr("link 0->1 lane 0 needs 2 GiB"));
  EXPECT_THAT(group, HasSubstr("control group of this process has 1 GiB"));
  EXPECT_THAT(group, HasSubstr("STRAIT_SLOT_BYTES"));
  EXPECT_THAT(fits(room, 11 * kGiB, "a link").message(), HasSubstr("this host has 10 GiB"));
}

}  // namespace
}  // namespace strait
