#include "codec/device/device_codec.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "codec/device.hpp"
#include "simt/simt.hpp"

namespace strait::codec {
namespace {

constexpr uint32_t kBlocks = 2;
constexpr size_t kPage = 4096;
constexpr std::byte kUntouched{0xA5};

void launch(const Kernel& kernel, const char* usual, DataType type, uint32_t shared_bytes,
            void** arguments) {
  const std::string name =
      (kernel.prefix.empty() ? usual : kernel.prefix) + std::string(name_of(kernel_type(type)));
  const simt::Kernel* found = simt::find_kernel(name);
  ASSERT_NE(found, nullptr) << name;
  const simt::Launch shape = {kBlocks, kCodecThreads, shared_bytes, name};
  const Status status =
      simt::run(shape, [&] { (*found)(arguments); }, {.deadline_ms = 600'000, .seed = kernel.seed});
  ASSERT_TRUE(status.ok()) << status.message();
}

}  // namespace

GuardedBytes::GuardedBytes(size_t size, size_t offset)
    : size_(size), mapped_((size + offset + 15) / kPage * kPage + 2 * kPage) {
  void* const mapped =
      mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(mapped, MAP_FAILED);
  base_ = static_cast<std::byte*>(mapped);
  std::byte* const end = base_ + mapped_ - kPage;
  EXPECT_EQ(mprotect(end, kPage, PROT_NONE), 0);
  start_ = end - (size + offset + 15) / 16 * 16 + offset;
  std::memset(base_, static_cast<int>(kUntouched), mapped_ - kPage);
}

GuardedBytes::~GuardedBytes() {
  for (std::byte* at = base_; at < start_; ++at)
    if (*at != kUntouched) {
      ADD_FAILURE() << "a byte was written " << start_ - at << " before the start";
      break;
    }
  for (std::byte* at = start_ + size_; at < base_ + mapped_ - kPage; ++at)
    if (*at != kUntouched) {
      ADD_FAILURE() << "a byte was written " << at - start_ - size_ << " behind the end";
      break;
    }
  munmap(base_, mapped_);
}

std::vector<std::vector<std::byte>> device_encode(DataType type, std::span<const Array> arrays,
                                                  const Options& options, const Kernel& kernel) {
  std::vector<std::unique_ptr<GuardedBytes>> values, chunks;
  std::vector<uint32_t> sizes(arrays.size());
  std::vector<EncodeJob> jobs;
  for (const Array& array : arrays) {
    const size_t count = array.values.size() / size_of(type);
    values.push_back(std::make_unique<GuardedBytes>(array.values.size(), array.offset));
    if (!array.values.empty())
      std::memcpy(values.back()->data(), array.values.data(), array.values.size());
    chunks.push_back(std::make_unique<GuardedBytes>(bound(type, count)));
    jobs.push_back({values.back()->data(), chunks.back()->data(), &sizes[jobs.size()],
                    static_cast<uint32_t>(count), type, options.mode, options.checksum});
  }
  GuardedBytes scratch(kBlocks * encode_scratch_bytes(DataType::kFloat32));
  const EncodeJob* first = jobs.data();
  auto count = static_cast<uint32_t>(jobs.size());
  std::byte* scratch_start = scratch.data();
  void* arguments[] = {&first, &count, &scratch_start};
  launch(kernel, options.mode == Mode::kDense ? "strait_encode_dense_" : "strait_encode_fast_",
         type, kEncodeSharedBytes, arguments);
  std::vector<std::vector<std::byte>> made;
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_LE(sizes[i], chunks[i]->span().size());
    const std::byte* start = chunks[i]->data();
    made.emplace_back(start, start + std::min<size_t>(sizes[i], chunks[i]->span().size()));
  }
  return made;
}

std::vector<Decoded> device_decode(DataType type, std::span<const std::vector<std::byte>> chunks,
                                   size_t count, size_t offset, const Kernel& kernel,
                                   std::span<const uint8_t> before) {
  std::vector<std::unique_ptr<GuardedBytes>> inputs, outputs;
  std::vector<uint32_t> faults(chunks.size(), ~0u);
  std::vector<DecodeJob> jobs;
  for (const std::vector<std::byte>& chunk : chunks) {
    inputs.push_back(std::make_unique<GuardedBytes>(chunk.size()));
    if (!chunk.empty()) std::memcpy(inputs.back()->data(), chunk.data(), chunk.size());
    outputs.push_back(std::make_unique<GuardedBytes>(count * size_of(type), offset));
    if (!before.empty()) std::memcpy(outputs.back()->data(), before.data(), before.size());
    jobs.push_back({inputs.back()->data(), outputs.back()->data(), &faults[jobs.size()],
                    static_cast<uint32_t>(chunk.size()), static_cast<uint32_t>(count), type});
  }
  const DecodeJob* first = jobs.data();
  auto job_count = static_cast<uint32_t>(jobs.size());
  void* arguments[] = {&first, &job_count};
  launch(kernel, "strait_decode_", type, 0, arguments);
  std::vector<Decoded> decoded;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto* start = reinterpret_cast<const uint8_t*>(outputs[i]->data());
    decoded.push_back({faults[i], {start, start + outputs[i]->span().size()}});
  }
  return decoded;
}

std::vector<Relayed> device_relay(DataType type, std::span<const std::vector<std::byte>> chunks,
                                  std::span<const uint8_t> own, const Options& options) {
  const auto count = static_cast<uint32_t>(own.size() / size_of(type));
  GuardedBytes values(own.size());
  std::memcpy(values.data(), own.data(), own.size());
  std::vector<std::unique_ptr<GuardedBytes>> inputs, outputs;
  std::vector<uint32_t> faults(chunks.size(), ~0u), sizes(chunks.size());
  std::vector<DecodeJob> from;
  std::vector<EncodeJob> to;
  for (const std::vector<std::byte>& chunk : chunks) {
    inputs.push_back(std::make_unique<GuardedBytes>(chunk.size()));
    std::memcpy(inputs.back()->data(), chunk.data(), chunk.size());
    outputs.push_back(std::make_unique<GuardedBytes>(bound(type, count)));
    from.push_back({inputs.back()->data(), values.data(), &faults[from.size()],
                    static_cast<uint32_t>(chunk.size()), count, type});
    to.push_back({nullptr, outputs.back()->data(), &sizes[to.size()], count, type, options.mode,
                  options.checksum});
  }
  GuardedBytes scratch(kBlocks * encode_scratch_bytes(DataType::kFloat32));
  const DecodeJob* first_from = from.data();
  const EncodeJob* first_to = to.data();
  auto jobs = static_cast<uint32_t>(from.size());
  std::byte* scratch_start = scratch.data();
  void* arguments[] = {&first_from, &first_to, &jobs, &scratch_start};
  launch({}, options.mode == Mode::kDense ? "relay_dense_" : "relay_fast_", type,
         kEncodeSharedBytes, arguments);
  std::vector<Relayed> relayed;
  for (size_t i = 0; i < from.size(); ++i)
    relayed.push_back({faults[i], {outputs[i]->data(), outputs[i]->data() + sizes[i]}});
  return relayed;
}

std::vector<std::byte> host_encode(DataType type, std::span<const uint8_t> values,
                                   const Options& options) {
  const size_t count = values.size() / size_of(type);
  std::vector<std::byte> chunk(bound(type, count));
  chunk.resize(encode(type, values.data(), count, chunk, options));
  return chunk;
}

void expect_same(DataType type, std::span<const Array> arrays, const Options& options) {
  const auto chunks = device_encode(type, arrays, options);
  ASSERT_EQ(chunks.size(), arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    SCOPED_TRACE("array " + std::to_string(i) + ", offset " + std::to_string(arrays[i].offset));
    const auto expected = host_encode(type, arrays[i].values, options);
    ASSERT_EQ(chunks[i].size(), expected.size());
    const auto differs = std::mismatch(chunks[i].begin(), chunks[i].end(), expected.begin());
    ASSERT_EQ(differs.first - chunks[i].begin(), static_cast<ptrdiff_t>(expected.size()))
        << "the first byte that differs";
  }
  for (size_t i = 0; i < arrays.size();) {
    // All neighbours of the same length by one launch.
    size_t end = i + 1;
    while (end < arrays.size() && arrays[end].values.size() == arrays[i].values.size() &&
           arrays[end].offset == arrays[i].offset)
      ++end;
    const auto decoded = device_decode(type, std::span(chunks).subspan(i, end - i),
                                       arrays[i].values.size() / size_of(type), arrays[i].offset);
    for (; i < end; ++i) {
      SCOPED_TRACE("array " + std::to_string(i) + ", offset " + std::to_string(arrays[i].offset));
      const Decoded& one = decoded[decoded.size() - (end - i)];
      ASSERT_EQ(one.fault, 0u);
      ASSERT_TRUE(std::ranges::equal(one.values, arrays[i].values));
    }
  }
}

}  // namespace strait::codec
