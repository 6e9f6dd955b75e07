#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/memory_room.hpp"
#include "base/units.hpp"
#include "codec/dispatch.hpp"
#include "perf/safetensors.hpp"
#include "tools/strait/codec_trial.hpp"
#include "tools/strait/command.hpp"

namespace strait::tool {
namespace {

struct CodecFlags {
  std::string file;
  std::string mode = "auto";
  std::string chunk = "64K";
  int threads = 1;
  bool json = false;
};

constexpr int64_t kChunkBytesMin = 64;
constexpr int64_t kChunkBytesMax = 64 << 20;

struct Row {
  std::string name;
  std::string type;
  uint64_t values = 0;
  Trial trial;
};

double saving(const Trial& trial) {
  return trial.bytes == 0
             ? 0
             : 1 - static_cast<double>(trial.wire_bytes) / static_cast<double>(trial.bytes);
}

double gbs(uint64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / seconds * 1e-9 : 0;
}

nlohmann::ordered_json json_of(const Trial& trial) {
  return {{"bytes", trial.bytes},
          {"wire_bytes", trial.wire_bytes},
          {"saving", saving(trial)},
          {"encode_gbs", gbs(trial.bytes, trial.encode_s)},
          {"decode_gbs", gbs(trial.bytes, trial.decode_s)},
          {"exact", trial.exact}};
}

nlohmann::ordered_json json_of(const Row& row) {
  nlohmann::ordered_json json = {{"name", row.name}, {"type", row.type}, {"values", row.values}};
  json.update(json_of(row.trial));
  return json;
}

// Names come from the file: what could steer a terminal is not shown.
std::string printable(std::string name) {
  for (char& letter : name)
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = '?';
  return name;
}

void print_line(const std::string& name, const std::string& type, const std::string& values,
                const Trial& trial) {
  fmt::print("{:40} {:>9} {:>11} {:>12} {:>12} {:7.2f} {:8.2f} {:8.2f} {}\n", printable(name), type,
             values, trial.bytes, trial.wire_bytes, 100 * saving(trial),
             gbs(trial.bytes, trial.encode_s), gbs(trial.bytes, trial.decode_s),
             trial.exact ? "yes" : "NO");
}

void print_text(const std::vector<Row>& rows, const Trial& total, const CodecFlags& flags) {
  fmt::print("# mode {}, chunks of {} of values, threads {}, kernels {}; GB/s of values\n",
             flags.mode, flags.chunk, flags.threads, codec::kernels().name);
  fmt::print("{:40} {:>9} {:>11} {:>12} {:>12} {:>7} {:>8} {:>8} {}\n", "tensor", "type", "values",
             "bytes", "wire bytes", "saved %", "encode", "decode", "exact");
  for (const Row& row : rows)
    print_line(row.name, row.type, fmt::format("{}", row.values), row.trial);
  print_line("total", "", "", total);
}

void print_json(const std::vector<Row>& rows, const Trial& total) {
  nlohmann::ordered_json shown = {{"tensors", nlohmann::ordered_json::array()},
                                  {"total", json_of(total)}};
  for (const Row& row : rows) shown["tensors"].push_back(json_of(row));
  fmt::print("{}\n", shown.dump(2));
}

Result<TrialSetup> setup_of(const CodecFlags& flags) {
  const auto chunk = parse_size(flags.chunk);
  if (!chunk.ok()) return chunk.status().at("--chunk");
  if (*chunk < kChunkBytesMin || *chunk > kChunkBytesMax || *chunk % 8 != 0)
    return error(Code::kInvalidArgument, "--chunk {}: give a multiple of 8 from {} to 64M",
                 flags.chunk, kChunkBytesMin);
  // Dense is for those who ask for it: auto is what the library does, which is fast.
  TrialSetup setup;
  setup.chunk_bytes = static_cast<size_t>(*chunk);
  setup.threads = flags.threads;
  setup.options.mode = flags.mode == "dense" ? codec::Mode::kDense : codec::Mode::kFast;
  return setup;
}

// Values of a type that the codec does not know travel as bytes, uncompressed.
Result<Row> measure(const perf::Tensor& tensor, TrialSetup setup) {
  const uint64_t need = 2 * uint64_t{tensor.bytes.size()};
  const MemoryRoom room = memory_room();
  if (need > room.machine_bytes.value_or(need) || need > room.cgroup_bytes.value_or(need))
    return error(Code::kSystemError,
                 "tensor \"{}\" takes {} of memory to measure, which is not free; end other "
                 "programs or cut the file into smaller tensors",
                 printable(tensor.name), format_bytes(need));
  if (!tensor.type) setup.options.mode = codec::Mode::kRaw;
  const DataType type = tensor.type.value_or(DataType::kUint8);
  return Row{.name = tensor.name,
             .type = tensor.type ? std::string(name_of(type)) : tensor.dtype,
             .values = tensor.bytes.size() / size_of(type),
             .trial = try_codec(type, tensor.bytes, setup)};
}

void add(Trial& total, const Trial& trial) {
  total.bytes += trial.bytes;
  total.wire_bytes += trial.wire_bytes;
  total.encode_s += trial.encode_s;
  total.decode_s += trial.decode_s;
  total.exact = total.exact && trial.exact;
}

Status show(const CodecFlags& flags) {
  STRAIT_ASSIGN(const TrialSetup setup, setup_of(flags));
  STRAIT_ASSIGN(const perf::SafetensorsFile file, perf::SafetensorsFile::open(flags.file));
  std::vector<Row> rows;
  Trial total;
  for (const perf::Tensor& tensor : file.tensors()) {
    STRAIT_ASSIGN(Row row, measure(tensor, setup));
    add(total, row.trial);
    rows.push_back(std::move(row));
  }
  if (flags.json)
    print_json(rows, total);
  else
    print_text(rows, total, flags);
  if (!total.exact)
    return error(Code::kInternalError, "{}: some bytes came back otherwise than they went",
                 flags.file);
  return {};
}

}  // namespace

void add_codec(CLI::App& app, Task& task) {
  CLI::App* codec =
      app.add_subcommand("codec", "how small and how fast the tensors of a file become");
  auto flags = std::make_shared<CodecFlags>();
  codec->add_option("FILE", flags->file, "a safetensors file")->required();
  codec
      ->add_option("--mode", flags->mode, "fast, dense (smaller, slower), auto (the library's own)")
      ->check(CLI::IsMember({"fast", "dense", "auto"}))
      ->capture_default_str();
  codec->add_option("--threads", flags->threads, "threads that share the chunks of a tensor")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  codec->add_option("--chunk", flags->chunk, "bytes of values in a chunk")->capture_default_str();
  codec->add_flag("--json", flags->json, "JSON on standard output");
  codec->footer(
      "Wire bytes count every header. Rates are medians of five passes after one to warm up.\n"
      "  strait codec gradients.safetensors --mode dense --threads 2");
  codec->callback([=, &task] { task = [=] { return show(*flags); }; });
}

}  // namespace strait::tool
