#include "perf/device/codec_speed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "codec/codec.hpp"
#include "perf/device/record.hpp"

namespace strait {

DeviceImages device_images_strait_device_images();  // defined by the build

}  // namespace strait

namespace strait::device_check {
namespace {

constexpr size_t kChunkBytes = 64 << 10;  // of values, as a slot of a link holds about
constexpr unsigned kCopyThreads = 512;

// What is held against it: bytes per clock and multiprocessor that another implementation claims.
struct Claim {
  double encode = 0;
  double decode = 0;
};

struct Subject {
  const char* name;
  DataType type;
  codec::Mode mode;
  Claim claim;
  std::vector<std::byte> values;  // repeated to the size
};

// A value of bfloat16 is the upper half of one of float.
float widened(std::span<const std::byte> values, size_t i) {
  uint16_t bits = 0;
  std::memcpy(&bits, values.data() + 2 * (i % (values.size() / 2)), sizeof bits);
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

std::vector<std::byte> floats(size_t count, const std::function<float(size_t)>& value) {
  std::vector<std::byte> bytes(4 * count);
  for (size_t i = 0; i < count; ++i) {
    const float number = value(i);
    std::memcpy(bytes.data() + 4 * i, &number, sizeof number);
  }
  return bytes;
}

std::vector<Subject> subjects(std::span<const std::byte> gradients) {
  const std::vector<std::byte> bf16(gradients.begin(), gradients.end());
  const size_t count = bf16.size() / 2, quarter = count / 4;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const Claim for_bf16 = {11.7, 13.8}, for_fp32 = {3.3, 0};
  return {{"gradients", DataType::kBfloat16, codec::Mode::kFast, for_bf16, bf16},
          {"gradients", DataType::kBfloat16, codec::Mode::kDense, for_bf16, bf16},
          {"normal", DataType::kFloat32, codec::Mode::kDense, for_fp32,
           floats(count, [&](size_t) { return 1e-3f * normal(random); })},
          {"sums of 4 gradients", DataType::kFloat32, codec::Mode::kDense, for_fp32,
           floats(count, [&](size_t i) {
             return widened(bf16, i) + widened(bf16, i + quarter) + widened(bf16, i + 2 * quarter) +
                    widened(bf16, i + 3 * quarter);
           })}};
}

class Speed {
 public:
  Speed(const Gpu& gpu, CodecKernels& kernels, const SpeedTerms& terms)
      : gpu_(gpu), kernels_(kernels), terms_(terms) {}

  Status run(std::span<const std::byte> gradients) {
    STRAIT_TRY(prepare());
    for (const Subject& subject : subjects(gradients)) STRAIT_TRY(run(subject));
    return Status();
  }

 private:
  Status prepare() {
    STRAIT_ASSIGN(module_, gpu_.load(device_images_strait_device_images(), "copy"));
    STRAIT_ASSIGN(copy_, module_.kernel("strait_copy"));
    STRAIT_ASSIGN(const cuda::Kernel count, module_.kernel("strait_count_clocks"));
    STRAIT_ASSIGN(values_, gpu_.memory(terms_.bytes));
    STRAIT_ASSIGN(result_, gpu_.memory(terms_.bytes));
    uint64_t passed[2] = {};
    STRAIT_TRY(
        cuda::launch_with(count, {}, gpu_.stream(), uint64_t{20'000'000}, result_.pointer()));
    STRAIT_TRY(gpu_.download(std::as_writable_bytes(std::span(passed)), result_.pointer()));
    clocks_per_ns_ = static_cast<double>(passed[0]) / static_cast<double>(passed[1]);
    Record("machine")
        .with("gpu", gpu_.facts().name)
        .with("multiprocessors", gpu_.facts().multiprocessors)
        .with("ghz", clocks_per_ns_)
        .write(Verdict::kMeasured);
    for (const unsigned blocks : terms_.multiprocessors) {
      STRAIT_ASSIGN(const double ns, gpu_.median_ns(terms_.runs, [&] {
        return cuda::launch_with(copy_, {.blocks = blocks, .threads = kCopyThreads}, gpu_.stream(),
                                 values_.pointer(), result_.pointer(), uint64_t{terms_.bytes / 16});
      }));
      copy_ns_.push_back(ns);
      report("copy", "any", {}, blocks, ns, ns, 0).write(Verdict::kMeasured);
    }
    return Status();
  }

  Status run(const Subject& subject) {
    std::vector<std::byte> host(terms_.bytes);
    for (size_t at = 0; at < host.size(); at += subject.values.size())
      std::memcpy(host.data() + at, subject.values.data(),
                  std::min(subject.values.size(), host.size() - at));
    STRAIT_TRY(gpu_.upload(values_.pointer(), host));
    STRAIT_TRY(make_jobs(subject));
    const bool dense = subject.mode == codec::Mode::kDense;
    double saving = 0;
    for (size_t i = 0; i < terms_.multiprocessors.size(); ++i) {
      const unsigned blocks = terms_.multiprocessors[i];
      const auto measure = [&](const char* what, double claim, auto launch) -> Status {
        STRAIT_ASSIGN(const double ns, gpu_.median_ns(terms_.runs, launch));
        Record record = report(what, name(subject), subject.name, blocks, ns, copy_ns_[i], claim);
        if (what == std::string("encode")) {
          STRAIT_ASSIGN(saving, find_saving());
        }
        record.with("saving", saving).write(Verdict::kMeasured);
        return Status();
      };
      STRAIT_TRY(measure("encode", subject.claim.encode,
                         [&] { return kernels_.encode(encode_jobs_, dense, blocks); }));
      STRAIT_TRY(measure("decode", subject.claim.decode,
                         [&] { return kernels_.decode(decode_jobs_, blocks); }));
      STRAIT_TRY(check_result(host));
      STRAIT_TRY(measure("decode + reduce", subject.claim.decode,
                         [&] { return kernels_.decode_add(decode_jobs_, blocks); }));
    }
    return Status();
  }

  static std::string name(const Subject& subject) {
    return fmt::format("{} {}", name_of(subject.type),
                       subject.mode == codec::Mode::kFast ? "fast" : "dense");
  }

  // Chunks lie at fixed distances, their sizes and the decoder's faults in two arrays.
  Status make_jobs(const Subject& subject) {
    const size_t chunks = terms_.bytes / kChunkBytes, values = kChunkBytes / size_of(subject.type);
    const size_t room = (codec::bound(subject.type, values) + 255) / 256 * 256;
    STRAIT_ASSIGN(chunks_, gpu_.memory(room * chunks));
    STRAIT_ASSIGN(answers_, gpu_.memory(8 * chunks));
    STRAIT_TRY(gpu_.fill(answers_.pointer(), 0, 8 * chunks));
    const auto at = [](const cuda::DeviceMemory& memory, size_t offset) {
      return static_cast<std::byte*>(memory.data()) + offset;
    };
    std::vector<codec::EncodeJob> encode;
    std::vector<codec::DecodeJob> decode;
    for (size_t i = 0; i < chunks; ++i) {
      const auto count = static_cast<uint32_t>(values);
      encode.push_back({at(values_, i * kChunkBytes), at(chunks_, i * room),
                        reinterpret_cast<uint32_t*>(at(answers_, 4 * i)), count, subject.type,
                        subject.mode, false});
      decode.push_back({at(chunks_, i * room), at(result_, i * kChunkBytes),
                        reinterpret_cast<uint32_t*>(at(answers_, 4 * (chunks + i))),
                        static_cast<uint32_t>(room), count, subject.type});
    }
    const auto upload = [&](cuda::DeviceMemory& memory, const auto& jobs) -> Status {
      STRAIT_ASSIGN(memory, gpu_.memory(std::as_bytes(std::span(jobs)).size()));
      return gpu_.upload(memory.pointer(), std::as_bytes(std::span(jobs)));
    };
    STRAIT_TRY(upload(encode_memory_, encode));
    STRAIT_TRY(upload(decode_memory_, decode));
    encode_jobs_ = {encode_memory_.pointer(), static_cast<uint32_t>(chunks), subject.type};
    decode_jobs_ = {decode_memory_.pointer(), static_cast<uint32_t>(chunks), subject.type};
    return Status();
  }

  Result<double> find_saving() {
    std::vector<uint32_t> sizes(encode_jobs_.count);
    STRAIT_TRY(gpu_.download(std::as_writable_bytes(std::span(sizes)), answers_.pointer()));
    double wire = 0;
    for (const uint32_t size : sizes) wire += size;
    return 1 - wire / static_cast<double>(terms_.bytes);
  }

  // A measurement of wrong results is none.
  Status check_result(const std::vector<std::byte>& expected) {
    std::vector<std::byte> found(expected.size());
    STRAIT_TRY(gpu_.download(found, result_.pointer()));
    if (found != expected)
      return error(Code::kInternalError, "the values decoded at full size differ");
    return Status();
  }

  Record report(const char* what, const std::string& codec, const std::string& data,
                unsigned blocks, double ns, double copy_ns, double claim) const {
    const double rate = static_cast<double>(terms_.bytes) / ns;
    const double per_clock = rate / clocks_per_ns_ / blocks;
    Record record("codec speed");
    record.with("what", what).with("codec", codec).with("data", data.empty() ? "any" : data);
    record.with("sms", static_cast<int>(blocks)).with("gbs", rate).with("of_copy", copy_ns / ns);
    record.with("bytes_per_clock_sm", per_clock);
    if (claim > 0) record.with("of_claim", per_clock / claim);
    return record;
  }

  const Gpu& gpu_;
  CodecKernels& kernels_;
  const SpeedTerms& terms_;
  double clocks_per_ns_ = 0;
  std::vector<double> copy_ns_;  // by number of multiprocessors
  cuda::Module module_;
  cuda::Kernel copy_;
  cuda::DeviceMemory values_, result_, chunks_, answers_, encode_memory_, decode_memory_;
  CodecKernels::Jobs encode_jobs_, decode_jobs_;
};

}  // namespace

Status measure_codec(const Gpu& gpu, CodecKernels& kernels, const SpeedTerms& terms,
                     std::span<const std::byte> gradients) {
  return Speed(gpu, kernels, terms).run(gradients);
}

}  // namespace strait::device_check
