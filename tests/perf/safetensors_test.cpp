#include "perf/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>
#include <string>

namespace strait::perf {
namespace {

using ::testing::HasSubstr;

std::string file_of(const std::string& header, size_t data_bytes) {
  std::string file(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  file += header;
  for (size_t i = 0; i < data_bytes; ++i) file.push_back(static_cast<char>(i));
  return file;
}

std::string small_file() {
  return file_of(
      R"({"__metadata__":{"made":"here"},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},)"
      R"("a":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]}})",
      12);
}

Result<SafetensorsFile> parse(const std::string& file) {
  return SafetensorsFile::parse(std::as_bytes(std::span(file)), "x.safetensors");
}

std::string complaint(const std::string& header, size_t data_bytes) {
  const std::string file = file_of(header, data_bytes);
  const auto parsed = parse(file);
  return parsed.ok() ? "accepted" : parsed.status().message();
}

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirBytes) {
  const std::string file = small_file();
  const auto parsed = parse(file);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const auto& tensors = parsed->tensors();
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].type, DataType::kBfloat16);
  EXPECT_EQ(tensors[0].shape, (std::vector<uint64_t>{2, 1}));
  EXPECT_EQ(tensors[0].bytes.size(), 4u);
  EXPECT_EQ(tensors[1].type, DataType::kFloat32);
  EXPECT_EQ(tensors[1].bytes[0], std::byte{4});
}

TEST(Safetensors, RefusesEveryTruncation) {
  const std::string file = small_file();
  for (size_t length = 0; length < file.size(); ++length) {
    const std::string cut = file.substr(0, length);
    const auto parsed = parse(cut);
    ASSERT_FALSE(parsed.ok()) << length << " bytes were accepted";
    EXPECT_THAT(parsed.status().message(), HasSubstr("x.safetensors"));
  }
}

TEST(Safetensors, SurvivesAnyDamage) {
  const std::string file = small_file();
  std::mt19937 random(7);
  for (int attempt = 0; attempt < 20'000; ++attempt) {
    std::string damaged = file;
    for (unsigned change = 0; change <= random() % 3; ++change)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto parsed = parse(damaged);
    if (!parsed.ok()) continue;
    for (const Tensor& tensor : parsed->tensors()) {
      const auto* begin = reinterpret_cast<const char*>(tensor.bytes.data());
      ASSERT_GE(begin, damaged.data());
      ASSERT_LE(begin + tensor.bytes.size(), damaged.data() + damaged.size());
    }
  }
}

TEST(Safetensors, NamesWhatIsWrong) {
  EXPECT_THAT(complaint("[1]", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(complaint(R"({"a":5})", 0), HasSubstr("no dtype"));
  EXPECT_THAT(complaint(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
              HasSubstr("no valid shape"));
  EXPECT_THAT(complaint(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", 4),
              HasSubstr("no valid data_offsets"));
  EXPECT_THAT(complaint(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 4),
              HasSubstr("bytes 0 to 8 of 4"));
  EXPECT_THAT(complaint(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
              HasSubstr("bytes 4 to 0"));
  EXPECT_THAT(complaint(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
              HasSubstr("shape"));
  EXPECT_THAT(complaint(R"({"a":{"dtype":"F32","shape":[4611686018427387905],)"
                        R"("data_offsets":[0,4]}})",
                        4),
              HasSubstr("shape"));
  EXPECT_THAT(complaint(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                        R"("b":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}})",
                        5),
              HasSubstr("\"a\" and \"b\" overlap"));
}

TEST(Safetensors, RefusesAHeaderLongerThanTheFile) {
  std::string file(8, '\xff');
  EXPECT_THAT(parse(file).status().message(), HasSubstr("18446744073709551615"));
}

TEST(Safetensors, KeepsTensorsOfTypesNoCollectiveHas) {
  const std::string file = file_of(R"({"m":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", 3);
  const auto parsed = parse(file);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_FALSE(parsed->tensors()[0].type.has_value());
}

TEST(Safetensors, OpensFilesAndNamesMissingOnes) {
  const std::string path = ::testing::TempDir() + "strait_small.safetensors";
  std::ofstream(path, std::ios::binary) << small_file();
  const auto opened = SafetensorsFile::open(path);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(opened->tensors().size(), 2u);
  EXPECT_THAT(SafetensorsFile::open("/nowhere/a.safetensors").status().message(),
              HasSubstr("/nowhere/a.safetensors"));
  EXPECT_THAT(SafetensorsFile::open("/proc").status().message(), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace strait::perf
