// What a rank says of itself comes back as it was, and damaged bytes are an error whatever they
// are.

#include "comm/member.hpp"

#include <gtest/gtest.h>

namespace strait {
namespace {

Member some_member() {
  return {.domain = "rack 7",
          .device = "a GPU",
          .gpu = "GPU-1",
          .gpu_blocks = 132,
          .fd_exchange = std::string("\0abstract\xff", 10),
          .place = "10.0.0.2:4711, [fd00::2]:4711",
          .addresses = {{"inproc", "42"}, {"shm", ""}, {"tcp", std::string("\x01\x00\x7f", 3)}}};
}

TEST(Member, ComesBackAsItWas) {
  for (const Member& member : {some_member(), Member{}}) {
    const auto back = unpack_member(pack(member));
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(*back, member);
  }
}

TEST(Member, RanksOfOneGpuShareItsBlocks) {
  const auto on = [](const char* gpu, uint32_t blocks) {
    Member member;
    member.gpu = gpu;
    member.gpu_blocks = blocks;
    return member;
  };
  EXPECT_EQ(blocks_beside_each_other({Member{}, Member{}}), 0);
  EXPECT_EQ(blocks_beside_each_other({on("a", 132), on("b", 148)}), 132);
  EXPECT_EQ(blocks_beside_each_other({on("a", 132), on("b", 148), on("b", 148)}), 74);
  EXPECT_EQ(blocks_beside_each_other({on("a", 2), on("a", 2), on("a", 2)}), 1);
}

TEST(Member, CutAnywhereIsAnError) {
  const std::vector<std::byte> bytes = pack(some_member());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(unpack_member(std::span(bytes).first(length)).ok()) << length;
}

TEST(Member, LengthsThatCannotBeAreErrors) {
  std::vector<std::byte> bytes = pack(some_member());
  for (size_t place = 0; place < 4; ++place) bytes[place] = std::byte{0xff};
  EXPECT_FALSE(unpack_member(bytes).ok());
}

}  // namespace
}  // namespace strait
