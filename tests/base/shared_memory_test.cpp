#include "base/shared_memory.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace strait {
namespace {

using testing::HasSubstr;

TEST(SharedMemory, StartsZeroedAndIsSharedByItsDescriptor) {
  auto made = SharedMemory::create("a test", 10'000);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->bytes(), 10'000u);
  EXPECT_TRUE(std::all_of(made->data(), made->data() + made->bytes(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
  auto fd = made->duplicate_fd();
  ASSERT_TRUE(fd.ok());
  auto mapped = SharedMemory::map(std::move(*fd), 10'000);
  ASSERT_TRUE(mapped.ok()) << mapped.status().message();
  EXPECT_NE(mapped->data(), made->data());
  made->data()[9'999] = std::byte{42};
  EXPECT_EQ(mapped->data()[9'999], std::byte{42});
}

TEST(SharedMemory, MappingOutlivesItsDescriptorAndItsMaker) {
  auto made = SharedMemory::create("a test", 4096);
  ASSERT_TRUE(made.ok());
  auto mapped = SharedMemory::map(made->take_fd(), 4096);
  made->data()[0] = std::byte{7};
  *made = SharedMemory();
  EXPECT_EQ(made->data(), nullptr);
  EXPECT_EQ(mapped->data()[0], std::byte{7});
  SharedMemory moved = std::move(*mapped);
  EXPECT_EQ(moved.data()[0], std::byte{7});
}

TEST(SharedMemory, CannotShrinkOrGrowUnderItsUsers) {
  auto made = SharedMemory::create("a test", 8192);
  ASSERT_TRUE(made.ok());
  EXPECT_NE(ftruncate(made->fd(), 4096), 0);
  EXPECT_NE(ftruncate(made->fd(), 16'384), 0);
}

TEST(SharedMemory, RefusesForeignMemory) {
  auto made = SharedMemory::create("a test", 100);
  EXPECT_THAT(SharedMemory::map(made->take_fd(), 200).status().message(),
              HasSubstr("has 100 bytes where 200 are expected"));
  UniqueFd unsealed(memfd_create("unsealed", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(unsealed.get(), 4096), 0);
  EXPECT_THAT(SharedMemory::map(std::move(unsealed), 4096).status().message(),
              HasSubstr("may shrink"));
  EXPECT_FALSE(SharedMemory::map(UniqueFd(), 4096).ok());
}

TEST(SharedMemory, LackOfMemoryIsASentence) {
  const Status status = SharedMemory::create("link 0->1 lane 0", size_t{1} << 50).status();
  EXPECT_EQ(status.code(), Code::kSystemError);
  EXPECT_THAT(status.message(), HasSubstr("link 0->1 lane 0 needs"));
  EXPECT_THAT(status.message(), HasSubstr("lower STRAIT_SLOTS or STRAIT_SLOT_BYTES"));
}

}  // namespace
}  // namespace strait
