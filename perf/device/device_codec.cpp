// device_codec check|speed: the codec's kernels on the GPU against the host's codec, and their
// speed. Findings go to standard output as records; the exit code is 0 if nothing failed.
#include <cstdlib>
#include <cstring>
#include <random>

#include "codec/samples.hpp"
#include "perf/device/codec_batch.hpp"
#include "perf/device/codec_speed.hpp"
#include "perf/device/record.hpp"
#include "perf/device/tensor_file.hpp"

namespace strait::device_check {
namespace {

constexpr unsigned kBlocksMax = 20;
constexpr const char* kGradients = "/perf/data/gpt_gradients_bf16.safetensors";

struct Size {
  bool tiny = false;  // as much as a stand-in driver does in seconds
};

std::vector<CodecItem> items_of(const std::vector<codec::Sample>& samples, DataType type,
                                const Size& size) {
  const std::vector<size_t> counts =
      size.tiny ? std::vector<size_t>{0, 1, 513, 1025}
                : std::vector<size_t>{0, 1, 2, 63, 511, 512, 513, 1537, 16383, 16385, 40000};
  std::vector<CodecItem> items;
  for (const codec::Sample& sample : samples)
    for (const size_t count : counts)
      for (const codec::Mode mode : {codec::Mode::kFast, codec::Mode::kDense, codec::Mode::kRaw}) {
        const size_t bytes = std::min(count * size_of(type), sample.bytes.size());
        const size_t offset = items.size() % 3 == 0 ? items.size() % 16 : 0;
        items.push_back(
            {std::span(sample.bytes).first(bytes), offset, {mode, items.size() % 2 == 0}});
      }
  return items;
}

bool check_samples(const Gpu& gpu, CodecKernels& kernels, const Size& size) {
  bool passed = true;
  for (int t = 0; t < kDataTypeCount; ++t) {
    const auto type = static_cast<DataType>(t);
    const std::vector<codec::Sample> samples = codec::samples(type, size.tiny ? 1025 : 40000);
    const std::vector<CodecItem> items = items_of(samples, type, size);
    const Status status = check_codec(gpu, kernels, type, items, size.tiny ? 2 : kBlocksMax);
    Record record("codec check");
    record.with("type", std::string(name_of(type))).with("data", "samples");
    passed &= write_check(record.with("arrays", static_cast<int>(items.size())), status);
  }
  return passed;
}

bool check_gradients(const Gpu& gpu, CodecKernels& kernels, const Size& size,
                     std::span<const std::byte> gradients) {
  const std::span bytes(reinterpret_cast<const uint8_t*>(gradients.data()), gradients.size());
  const size_t chunk = 64 << 10, used = size.tiny ? 2 * chunk : bytes.size();
  std::vector<CodecItem> items;
  for (size_t at = 0; at < used; at += chunk)
    for (const codec::Mode mode : {codec::Mode::kFast, codec::Mode::kDense})
      items.push_back({bytes.subspan(at, std::min(chunk, used - at)), 0, {mode, true}});
  const Status status =
      check_codec(gpu, kernels, DataType::kBfloat16, items, size.tiny ? 2 : kBlocksMax);
  Record record("codec check");
  record.with("type", "bfloat16").with("data", "gradients");
  return write_check(record.with("arrays", static_cast<int>(items.size())), status);
}

Result<bool> run(const std::string& command, const std::string& source, const Size& size) {
  STRAIT_ASSIGN(const auto gpu, Gpu::open(0));
  STRAIT_ASSIGN(CodecKernels kernels, CodecKernels::load(*gpu, kBlocksMax));
  STRAIT_ASSIGN(const std::vector<std::byte> gradients, read_tensors(source + kGradients));
  if (command == "check") {
    const bool samples = check_samples(*gpu, kernels, size);
    return check_gradients(*gpu, kernels, size, gradients) && samples;
  }
  SpeedTerms terms;
  if (size.tiny) terms = {.bytes = 256 << 10, .runs = 1, .multiprocessors = {1, 2}};
  STRAIT_TRY(measure_codec(*gpu, kernels, terms, gradients));
  return true;
}

}  // namespace
}  // namespace strait::device_check

int main(int argc, char** argv) {
  using namespace strait;
  const std::string command = argc > 1 ? argv[1] : "";
  if (argc < 3 || argc > 4 || (command != "check" && command != "speed") ||
      (argc == 4 && std::strcmp(argv[3], "--tiny") != 0)) {
    fmt::print(stderr, "usage: device_codec check|speed SOURCE_FOLDER [--tiny]\n");
    return 2;
  }
  const Result<bool> passed = device_check::run(command, argv[2], {.tiny = argc == 4});
  if (!passed.ok())
    device_check::write_check(device_check::Record("codec " + command), passed.status());
  return passed.ok() && *passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
