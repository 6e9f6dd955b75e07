// codec_perf: how small and how fast, ours beside memcpy, the codecs that Debian has and, once
// perf/codec_perf/setup_zipnn has been run, ZipNN, all on the same chunks in one run on one core.
//
//   codec_perf                                   4 MiB of normal values of every type
//   codec_perf FILE.safetensors ...              the tensors of files, those of one type together
//   codec_perf --size 64K --size 16M --chunk 64K --mode fast --kernels avx2 --no-peers --json
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/units.hpp"
#include "codec/dispatch.hpp"
#include "perf/codec_perf/fields.hpp"
#include "perf/codec_perf/race.hpp"
#include "perf/codec_perf/zipnn.hpp"

namespace strait::perf {
namespace {

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> types = {"bfloat16", "half", "float", "double", "f8e4m3", "f8e5m2"};
  std::vector<std::string> sizes = {"4M"};
  std::vector<std::string> modes = {"fast", "dense"};
  std::string chunk = "128K";
  std::string kernels;
  int rounds = 9;
  bool no_peers = false;
  bool json = false;
};

nlohmann::json row_of(const Field& field, const Standing& standing, const Standing& copy) {
  nlohmann::json row = {{"data", field.name},
                        {"type", name_of(field.type)},
                        {"bytes", field.values.size()},
                        {"codec", standing.contender},
                        {"saving", standing.saving},
                        {"encode_gbs", standing.encode_gbs},
                        {"decode_gbs", standing.decode_gbs},
                        {"encode_to_memcpy", standing.encode_gbs / copy.encode_gbs},
                        {"decode_to_memcpy", standing.decode_gbs / copy.encode_gbs},
                        {"exact", standing.exact}};
  if (standing.decode_add_gbs) row["decode_add_gbs"] = *standing.decode_add_gbs;
  if (standing.then_add_gbs) row["decode_then_add_gbs"] = *standing.then_add_gbs;
  return row;
}

void print_row(const Field& field, const Standing& standing, const Standing& copy) {
  const auto optional = [](const std::optional<double>& value) {
    return value ? fmt::format("{:8.2f}", *value) : std::string("       -");
  };
  fmt::print("{:28} {:9} {:13} {:7.2f} {:8.2f} {:8.2f} {} {} {:7.2f} {:7.2f} {}\n", field.name,
             name_of(field.type), standing.contender, 100 * standing.saving, standing.encode_gbs,
             standing.decode_gbs, optional(standing.decode_add_gbs),
             optional(standing.then_add_gbs), standing.encode_gbs / copy.encode_gbs,
             standing.decode_gbs / copy.encode_gbs, standing.exact ? "" : "WRONG");
}

void print_head(size_t chunk_bytes, int rounds) {
  fmt::print(
      "# kernels {}, chunks of {}, medians of {} rounds; GB/s are 1e9 bytes of values per second "
      "of "
      "one core\n# add: decoding into a sum in one pass; then: decoding, then adding; the last two "
      "are encode and decode as parts of memcpy\n",
      codec::kernels().name, format_bytes(chunk_bytes), rounds);
  fmt::print("{:28} {:9} {:13} {:>7} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7}\n", "data", "type",
             "codec", "saved %", "encode", "decode", "add", "then", "e/copy", "d/copy");
}

Result<std::vector<Field>> fields_of(const Options& options) {
  if (!options.files.empty()) return file_fields(options.files);
  std::vector<Field> fields;
  for (const std::string& name : options.types) {
    const auto type = parse_data_type(name);
    if (!type || !is_float(*type))
      return error(Code::kInvalidArgument, "--type {}: not a floating-point type", name);
    for (const std::string& size : options.sizes) {
      STRAIT_ASSIGN(const int64_t bytes, parse_size(size));
      fields.push_back(normal_field(*type, static_cast<size_t>(bytes)));
    }
  }
  return fields;
}

Status run(const Options& options) {
  STRAIT_ASSIGN(const int64_t chunk, parse_size(options.chunk));
  if (chunk < 64 || chunk % 8 != 0)
    return error(Code::kInvalidArgument, "--chunk {}: give at least 64 and a multiple of 8",
                 options.chunk);
  if (!codec::force_kernels(options.kernels))
    return error(Code::kInvalidArgument, "--kernels {}: not on this processor", options.kernels);
  STRAIT_ASSIGN(const std::vector<Field> fields, fields_of(options));
  auto contenders = our_contenders(options.modes);
  if (!options.no_peers)
    for (auto& peer : peer_contenders()) contenders.push_back(std::move(peer));
  const auto chunk_bytes = static_cast<size_t>(chunk);
  const std::string python = options.no_peers ? std::string() : zipnn_python();
  if (!options.json) print_head(chunk_bytes, options.rounds);
  if (!options.json && !options.no_peers && python.empty())
    fmt::print("# ZipNN is not raced: perf/codec_perf/setup_zipnn has not been run\n");
  nlohmann::json rows = nlohmann::json::array();
  bool exact = true;
  for (const Field& field : fields) {
    auto standings = race(field, chunk_bytes, options.rounds, contenders);
    if (!python.empty())
      if (const auto zipnn = race_zipnn(python, field, chunk_bytes, options.rounds))
        standings.push_back(*zipnn);
    for (const Standing& standing : standings) {
      exact = exact && standing.exact;
      if (options.json)
        rows.push_back(row_of(field, standing, standings.front()));
      else
        print_row(field, standing, standings.front());
    }
  }
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"kernels", codec::kernels().name},
                                      {"chunk_bytes", chunk_bytes},
                                      {"rounds", options.rounds},
                                      {"rows", rows}}
                           .dump(2));
  if (!exact) return error(Code::kInternalError, "some values came back otherwise than they went");
  return {};
}

}  // namespace
}  // namespace strait::perf

int main(int argc, char** argv) {
  strait::perf::Options options;
  CLI::App app("Measures the codec beside memcpy and other codecs, on one core.");
  app.add_option("files", options.files, "safetensors files; without any, normal values");
  app.add_option("--type", options.types, "types of the normal values")
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option("--size", options.sizes, "bytes of normal values")
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option("--mode", options.modes, "fast, dense")
      ->check(CLI::IsMember({"fast", "dense"}))
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option("--chunk", options.chunk, "bytes of values in a chunk")->capture_default_str();
  app.add_option("--kernels", options.kernels,
                 "portable, avx2, avx512, neon; the best if not said");
  app.add_option("--rounds", options.rounds, "rounds")->check(CLI::Range(1, 10000));
  app.add_flag("--no-peers", options.no_peers, "only memcpy and ours");
  app.add_flag("--json", options.json, "JSON on standard output");
  CLI11_PARSE(app, argc, argv);
  if (const strait::Status status = strait::perf::run(options); !status.ok()) {
    fmt::print(stderr, "codec_perf: {}\n", status.message());
    return 1;
  }
  return 0;
}
