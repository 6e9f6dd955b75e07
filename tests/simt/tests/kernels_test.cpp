// Kernels from sources that nvcc compiles too: found by name, launched with an array of arguments.
#include <chrono>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

#include "base/device_image.hpp"
#include "kernel_case.hpp"

namespace strait {
DeviceImages device_images_simt_test_images();
}  // namespace strait

namespace strait::simt {
namespace {

template <class... Args>
Status launch(const char* name, Launch shape, Args... values) {
  const Kernel* kernel = find_kernel(name);
  if (kernel == nullptr) return error(Code::kInvalidArgument, "there is no kernel {}", name);
  void* arguments[] = {&values...};
  shape.name = name;
  return run(shape, [&] { (*kernel)(arguments); });
}

std::vector<uint32_t> numbers(size_t count) {
  std::mt19937 random(3);
  std::vector<uint32_t> values(count);
  for (uint32_t& value : values) value = static_cast<uint32_t>(random());
  return values;
}

TEST(Kernels, AreFoundByNameWithTheirParameters) {
  EXPECT_EQ(find_kernel("simt_nothing"), nullptr);
  const Kernel* kernel = find_kernel("simt_exchange");
  ASSERT_NE(kernel, nullptr);
  ASSERT_EQ(kernel->parameters.size(), 7u);
  EXPECT_EQ(kernel->parameters[6].offset, 48u);
  EXPECT_EQ(kernel->parameters[6].bytes, 4u);
  EXPECT_EQ(find_kernel("simt_histogram")->parameters[2].offset, 16u);
}

TEST(Kernels, Scan) {
  const uint32_t count = 10'000, blocks = (count + 1023) / 1024;
  const auto in = numbers(count);
  std::vector<uint32_t> out(count), wanted(count);
  std::vector<uint64_t> totals(blocks);
  std::partial_sum(in.begin(), in.end(), wanted.begin());
  const Status status = launch("simt_scan", {blocks, 1024}, static_cast<const uint32_t*>(in.data()),
                               out.data(), totals.data(), count);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(out, wanted);
}

TEST(Kernels, Sum) {
  auto in = numbers(100'000);
  for (uint32_t& value : in) value >>= 16;
  unsigned long long total = 0;
  const Status status = launch("simt_sum", {7, 256, 32}, reinterpret_cast<const uint4*>(in.data()),
                               &total, static_cast<uint32_t>(in.size() / 4));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(total, std::accumulate(in.begin(), in.end(), 0ull));
}

TEST(Kernels, Histogram) {
  const auto words = numbers(20'001);
  const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
  const auto count = static_cast<uint32_t>(words.size() * 4 - 3);
  std::vector<uint32_t> counts(256), wanted(256);
  for (uint32_t at = 0; at < count; ++at) ++wanted[bytes[at]];
  const Status status = launch("simt_histogram", {5, 256}, bytes, counts.data(), count);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(counts, wanted);
}

TEST(Kernels, NamedBarriersMakeAPipeline) {
  const uint32_t rounds = 50;
  std::vector<uint32_t> out(rounds * 64);
  const Status status = launch("simt_pipeline", {1, 128, 512}, out.data(), rounds);
  ASSERT_TRUE(status.ok()) << status.message();
  for (uint32_t at = 0; at < out.size(); ++at) EXPECT_EQ(out[at], at ^ 1);
}

TEST(Kernels, AccessesOfSixteenBytes) {
  const auto in = numbers(4 * 64);
  std::vector<uint32_t> out(in.size());
  const Status status =
      launch("simt_copy16", {1, 64, 1024}, reinterpret_cast<const uint4*>(in.data()),
             reinterpret_cast<uint4*>(out.data()));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(out, in);
}

// Two ranks, each with a kernel launched from its own thread, and neither ends without the other.
TEST(Kernels, TwoLaunchesWaitForEachOther) {
  constexpr uint32_t kWidth = 128, kRounds = 40;
  std::vector<uint64_t> out[2], in[2];
  std::vector<uint4> ring[2];
  uint64_t consumed[2] = {0, 0};
  for (size_t rank : {0, 1}) {
    out[rank].resize(kWidth * kRounds);
    in[rank].resize(kWidth * kRounds);
    ring[rank].resize(kWidth * 4, uint4{0, 0, 0, 0});
    std::iota(out[rank].begin(), out[rank].end(), rank << 40);
  }
  Status statuses[2];
  const auto rank_of = [&](size_t rank) {
    const size_t peer = 1 - rank;
    statuses[rank] =
        launch("simt_exchange", {1, kWidth}, static_cast<const uint64_t*>(out[rank].data()),
               in[rank].data(), ring[peer].data(), ring[rank].data(), consumed + rank,
               static_cast<const uint64_t*>(consumed + peer), kRounds);
  };
  std::thread other(rank_of, 1);
  rank_of(0);
  other.join();
  for (const Status& status : statuses) ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(in[0], out[1]);
  EXPECT_EQ(in[1], out[0]);
}

// Where there is an nvcc, it took the same sources, and left no value outside of registers.
TEST(Kernels, NvccTakesTheSameSources) {
  const DeviceImages images = device_images_simt_test_images();
  if (images.empty()) GTEST_SKIP() << "no nvcc when this was built";
  ASSERT_EQ(images.size(), 2u);
  for (const DeviceImage& image : images) {
    EXPECT_GT(image.bytes, 1000u) << image.source;
    const auto path =
        std::string(STRAIT_BINARY_DIR "/ptxas/simt_test_images/") + image.source + ".txt";
    std::stringstream report;
    report << std::ifstream(path).rdbuf();
    EXPECT_THAT(report.str(), testing::HasSubstr("registers")) << path;
    EXPECT_THAT(report.str(), testing::HasSubstr("'sm_100'")) << path;
    EXPECT_THAT(report.str(), testing::Not(testing::ContainsRegex("[1-9][0-9]* bytes spill")));
  }
}

// Far more than it takes on a busy machine with a sanitizer; what it guards against is tenfold.
TEST(Kernels, AWarpOperationIsCheap) {
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(run({1, 32}, [] {
                for (int turn = 0; turn < 10'000; ++turn) __syncwarp();
              }).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace strait::simt
