// The device's bytes are the host's on real tensors: the project's own, and those of the files that
// STRAIT_CODEC_DATA names, separated by colons. STRAIT_CODEC_DATA_EVERY=N takes every N-th chunk of
// each tensor (default 8).
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <sstream>

#include "codec/device/device_codec.hpp"
#include "perf/safetensors.hpp"

namespace strait::codec {
namespace {

constexpr size_t kChunkValues = 2 * 16384 + 4096;

std::vector<std::string> files() {
  std::vector<std::string> paths = {std::string(STRAIT_SOURCE_DIR) +
                                    "/perf/data/gpt_gradients_bf16.safetensors"};
  const char* named = std::getenv("STRAIT_CODEC_DATA");
  std::istringstream rest(named == nullptr ? "" : named);
  for (std::string path; std::getline(rest, path, ':');) paths.push_back(path);
  return paths;
}

TEST(RealData, IsCodedAsOnTheHost) {
  const char* every_named = std::getenv("STRAIT_CODEC_DATA_EVERY");
  const size_t every = every_named == nullptr ? 8 : std::strtoul(every_named, nullptr, 10);
  for (const std::string& path : files()) {
    SCOPED_TRACE(path);
    const auto file = perf::SafetensorsFile::open(path);
    ASSERT_TRUE(file.ok()) << file.status().message();
    size_t seen = 0, bytes = 0;
    for (const perf::Tensor& tensor : file.value().tensors()) {
      if (!tensor.type) continue;
      SCOPED_TRACE(tensor.name);
      const auto* start = reinterpret_cast<const uint8_t*>(tensor.bytes.data());
      const size_t step = kChunkValues * size_of(*tensor.type);
      std::vector<Array> arrays;
      for (size_t at = 0; at < tensor.bytes.size(); at += step)
        if (seen++ % every == 0)
          arrays.push_back({{start + at, std::min(step, tensor.bytes.size() - at)}});
      if (arrays.empty()) continue;
      for (const Array& array : arrays) bytes += array.values.size();
      expect_same(*tensor.type, arrays, {Mode::kFast, false});
      expect_same(*tensor.type, arrays, {Mode::kDense, false});
      if (testing::Test::HasFatalFailure()) return;
    }
    std::cout << path << ": " << bytes << " bytes of values compared in both modes\n";
  }
}

}  // namespace
}  // namespace strait::codec
