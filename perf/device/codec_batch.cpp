#include "perf/device/codec_batch.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "exec/reduce.hpp"

namespace strait::device_check {
namespace {

constexpr std::byte kUntouched{0xA5};
constexpr size_t kGuardBytes = 64;  // behind each area

// One piece of the arena, the same on the host and on the device.
struct Area {
  size_t at = 0;
  size_t bytes = 0;
};

class Batch {
 public:
  Batch(const Gpu& gpu, CodecKernels& kernels, DataType type, std::span<const CodecItem> items,
        unsigned blocks)
      : gpu_(gpu), kernels_(kernels), type_(type), items_(items), blocks_(blocks) {}

  Status run() {
    lay_out();
    STRAIT_ASSIGN(memory_, gpu_.memory(host_.size()));
    STRAIT_TRY(encode());
    STRAIT_TRY(decode(false));
    const DataType kernel = codec::kernel_type(type_);
    const bool adds = kernel == type_ && is_float(type_) && type_ != DataType::kFloat8e4m3 &&
                      type_ != DataType::kFloat8e5m2;
    return adds ? decode(true) : Status();
  }

 private:
  struct Places {
    Area values, chunk, decoded;
  };

  size_t count_of(size_t item) const { return items_[item].values.size() / size_of(type_); }

  Area reserve(size_t bytes, size_t offset) {
    const size_t at = (used_ + 255) / 256 * 256 + offset;
    used_ = at + bytes + kGuardBytes;
    return {at, bytes};
  }

  void lay_out() {
    for (size_t i = 0; i < items_.size(); ++i)
      places_.push_back({reserve(items_[i].values.size(), items_[i].offset),
                         reserve(codec::bound(type_, count_of(i)), 0),
                         reserve(items_[i].values.size(), items_[i].offset)});
    answers_ = reserve(4 * items_.size(), 0);
    jobs_ =
        reserve(std::max(sizeof(codec::EncodeJob), sizeof(codec::DecodeJob)) * items_.size(), 0);
    host_.assign(used_, kUntouched);
    for (size_t i = 0; i < items_.size(); ++i) put(places_[i].values, items_[i].values.data());
  }

  void put(const Area& area, const void* bytes) {
    if (area.bytes > 0) std::memcpy(host_.data() + area.at, bytes, area.bytes);
  }
  template <class T>
  T* on_device(const Area& area) const {
    return reinterpret_cast<T*>(memory_.pointer() + area.at);
  }
  uint32_t answer(size_t item) const {
    uint32_t value = 0;
    std::memcpy(&value, host_.data() + answers_.at + 4 * item, sizeof value);
    return value;
  }

  Status encode() {
    std::vector<codec::EncodeJob> jobs;  // the dense ones last
    const auto count = static_cast<uint32_t>(items_.size());
    for (size_t i = 0; i < items_.size(); ++i)
      jobs.push_back({on_device<void>(places_[i].values), on_device<void>(places_[i].chunk),
                      on_device<uint32_t>(answers_) + i, static_cast<uint32_t>(count_of(i)), type_,
                      items_[i].options.mode, items_[i].options.checksum});
    const auto is_dense = [](const codec::EncodeJob& job) {
      return job.mode == codec::Mode::kDense;
    };
    const auto rest = std::ranges::partition(jobs, std::not_fn(is_dense));
    const auto dense = static_cast<uint32_t>(rest.size()), other = count - dense;
    put({jobs_.at, jobs.size() * sizeof jobs[0]}, jobs.data());
    STRAIT_TRY(gpu_.upload(memory_.pointer(), host_));
    const cuda::DevicePointer first = memory_.pointer() + jobs_.at;
    STRAIT_TRY(kernels_.encode({first, other, type_}, false, blocks_));
    STRAIT_TRY(kernels_.encode({first + other * sizeof jobs[0], dense, type_}, true, blocks_));
    STRAIT_TRY(gpu_.wait());
    STRAIT_TRY(gpu_.download(host_, memory_.pointer()));
    for (size_t i = 0; i < items_.size(); ++i) {
      const Area& chunk = places_[i].chunk;
      std::vector<std::byte> expected(chunk.bytes);
      expected.resize(
          codec::encode(type_, items_[i].values.data(), count_of(i), expected, items_[i].options));
      const std::span found(host_.data() + chunk.at, std::min<size_t>(answer(i), chunk.bytes));
      if (!std::ranges::equal(found, expected))
        return wrong("the chunk differs from the host's", i);
      STRAIT_TRY(check_guard(chunk, i));
    }
    return Status();
  }

  // Adding: to the values themselves.
  Status decode(bool add) {
    std::vector<codec::DecodeJob> jobs;
    for (size_t i = 0; i < items_.size(); ++i) {
      jobs.push_back({on_device<void>(places_[i].chunk), on_device<void>(places_[i].decoded),
                      on_device<uint32_t>(answers_) + i, answer_bytes(i, add),
                      static_cast<uint32_t>(count_of(i)), type_});
      if (add) put(places_[i].decoded, items_[i].values.data());
    }
    put({jobs_.at, jobs.size() * sizeof jobs[0]}, jobs.data());
    STRAIT_TRY(gpu_.upload(memory_.pointer(), host_));
    STRAIT_TRY(add ? kernels_.decode_add(all_jobs(), blocks_)
                   : kernels_.decode(all_jobs(), blocks_));
    STRAIT_TRY(gpu_.wait());
    STRAIT_TRY(gpu_.download(host_, memory_.pointer()));
    const Arithmetic sum = make_arithmetic(type_, ReduceKind::kSum, 1, nullptr);
    for (size_t i = 0; i < items_.size(); ++i) {
      std::vector<uint8_t> expected(items_[i].values.begin(), items_[i].values.end());
      if (add) {
        const void* values = items_[i].values.data();
        combine(sum, {expected.data()}, {values}, {values}, true, count_of(i));
      }
      if (answer(i) != 0) return wrong(fmt::format("decoding found fault {}", answer(i)), i);
      const Area& decoded = places_[i].decoded;
      if (!expected.empty() &&
          std::memcmp(host_.data() + decoded.at, expected.data(), decoded.bytes) != 0)
        return wrong(add ? "decoded sums differ from the host's" : "decoded values differ", i);
      STRAIT_TRY(check_guard(decoded, i));
    }
    return Status();
  }

  // The encoder's answers are the chunks' sizes; the decoder's take their place.
  uint32_t answer_bytes(size_t item, bool again) {
    if (!again) sizes_.push_back(answer(item));
    return sizes_[item];
  }

  CodecKernels::Jobs all_jobs() const {
    return {memory_.pointer() + jobs_.at, static_cast<uint32_t>(items_.size()), type_};
  }

  Status check_guard(const Area& area, size_t item) const {
    const auto behind = std::span(host_).subspan(area.at + area.bytes, kGuardBytes);
    const bool whole = std::ranges::all_of(behind, [](std::byte b) { return b == kUntouched; });
    return whole ? Status() : wrong("bytes behind the end were written", item);
  }

  Status wrong(const std::string& what, size_t item) const {
    return error(Code::kInternalError, "{}: array {} of {} values of {}, mode {}", what, item,
                 count_of(item), name_of(type_), static_cast<int>(items_[item].options.mode));
  }

  const Gpu& gpu_;
  CodecKernels& kernels_;
  const DataType type_;
  const std::span<const CodecItem> items_;
  const unsigned blocks_;
  std::vector<Places> places_;
  Area answers_, jobs_;
  size_t used_ = 0;
  std::vector<std::byte> host_;
  std::vector<uint32_t> sizes_;
  cuda::DeviceMemory memory_;
};

}  // namespace

Status check_codec(const Gpu& gpu, CodecKernels& kernels, DataType type,
                   std::span<const CodecItem> items, unsigned blocks) {
  return Batch(gpu, kernels, type, items, blocks).run();
}

}  // namespace strait::device_check
