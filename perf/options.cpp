#include "perf/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/units.hpp"

namespace strait::perf {
namespace {

// What is parsed as text first, and flags that only matter on GPUs.
struct Raw {
  std::string min_bytes = "32M", max_bytes = "32M", step_bytes = "1M";
  std::string type = "float", kind = "sum";
  int step_factor = 1;
  int device_implementation = 0, device_cta_count = 16;
};

constexpr int kMany = 1 << 30;

// Each table function adds one group of flags.
class FlagTable {
 public:
  FlagTable(CLI::App* app, Options* options, Raw* raw) : app_(*app), o_(*options), raw_(*raw) {
    ranks_and_sizes();
    repetitions();
    operation();
    reports();
    devices();
    ours();
  }

 private:
  template <class T>
  CLI::Option* number(const char* name, T& target, T low, T high, const char* help) {
    return app_.add_option(name, target, help)->check(CLI::Range(low, high))->capture_default_str();
  }
  // nccl-tests spells its switches as numbers, and any other than 0 is on.
  void onoff(const char* name, bool& target, const char* help) {
    app_.add_option_function<int>(
        name, [&target](int value) { target = value != 0; }, help);
  }
  CLI::Option* text(const char* name, std::string& target, const char* help) {
    return app_.add_option(name, target, help)->capture_default_str();
  }

  void ranks_and_sizes() {
    number("-t,--nthreads", o_.threads, 1, 4096, "ranks per process, each a thread");
    number("-g,--ngpus", o_.devices, 1, 4096, "ranks per thread");
    onoff("-p,--parallel_init", o_.parallel_init, "0|1: make communicators in the threads");
    text("-b,--minbytes", raw_.min_bytes, "smallest size, as 8, 64K, 1M, 2G");
    text("-e,--maxbytes", raw_.max_bytes, "largest size");
    text("-i,--stepbytes", raw_.step_bytes, "added from size to size");
    number("-f,--stepfactor", raw_.step_factor, 1, kMany, "multiplied from size to size");
  }

  void repetitions() {
    number("-n,--iters", o_.iterations, 1, kMany, "timed iterations");
    number("-w,--warmup_iters", o_.warmup, 0, kMany, "iterations before, not timed");
    number("-m,--agg_iters", o_.aggregate, 1, kMany, "operations in one group");
    number("-N,--run_cycles", o_.cycles, 0, kMany, "repeats the sweep; 0: for ever");
    number("-c,--check", o_.check, 0, kMany, "iterations whose result is checked");
    number("-T,--timeout", o_.timeout_s, 0, kMany, "seconds one test may take; 0: any");
  }

  void operation() {
    text("-o,--op", raw_.kind, "sum|prod|min|max|avg|mulsum|all");
    text("-d,--datatype", raw_.type,
         "int8|uint8|int32|uint32|int64|uint64|half|float|double|bfloat16|f8e4m3|f8e5m2|all");
    number("-r,--root", o_.root, -1, kMany, "root rank; -1: every one");
    number("-z,--blocking", o_.blocking, 0, 3,
           "1: wait after each operation, 2: and for the process's ranks, 3: and for all ranks");
    onoff("-y,--stream_null", o_.null_stream, "0|1: use the NULL stream");
    onoff("-u,--unalign", o_.unalign, "0|1: move the buffers by one element");
  }

  void reports() {
    onoff("-C,--report_cputime", o_.cpu_time, "0|1: report the time to enqueue");
    onoff("-S,--report_timestamps", o_.timestamps, "0|1: a time on each line");
    text("-J,--output_file", o_.json_path, "JSON file, name ends in .json");
    number("-a,--average", o_.average, 0, 3, "time of: 0 rank 0, 1 mean, 2 min, 3 max of ranks");
    onoff("-M,--memory", o_.memory_report, "0|1: report memory");
    onoff("-I,--per_iter_timing", o_.per_iteration, "0|1: min, max, p99 and variation");
    number("-K,--per_iter_skip", o_.per_iteration_skip, 0, kMany, "iterations left out of -I");
  }

  void devices() {
    number("-R,--local_register", o_.local_register, 0, 2,
           "1: register the buffers, 2: as symmetric windows");
    number("-x,--cta_policy", o_.cta_policy, 0, 2, "CTA policy; changes nothing on hosts");
    number("-G,--cudagraph", o_.graph_launches, 0, kMany,
           "launches of the iterations as one CUDA graph (GPUs only)");
    number("-D,--device_implementation", raw_.device_implementation, 0, 4,
           "device API kernels; there are none");
    number("-V,--device_cta_count", raw_.device_cta_count, 1, 128, "CTAs of -D");
  }

  void ours() {
    text("--data", o_.data, "random|normal|zeros|FILE.safetensors");
    app_.add_option("--compress", o_.compress, "auto|off|fast|dense between racks")
        ->check(CLI::IsMember({"auto", "off", "fast", "dense"}));
    number("--racks", o_.racks, 1, kMany, "splits the ranks into N equal racks");
    app_.add_option("--link-rate", o_.link_rate, "what leaves a rack: 2gbit, 250MB, ...");
    text("--bound-rate", o_.bound_rate, "what leaves a rack, for the bound; else --link-rate");
    number("--bound-latency", o_.bound_latency_us, 0.0, 1e9, "us between racks, for the bound");
    app_.add_flag("--per-link", o_.per_link, "bytes of each pair of ranks in different racks");
    app_.add_flag("--progress", o_.progress, "tells on standard error how far a long sweep is");
    app_.add_flag("--percentiles", o_.percentiles, "adds the columns p50 and p99");
    app_.add_flag("--median", o_.median, "time is the median of the iterations, not the mean");
  }

  CLI::App& app_;
  Options& o_;
  Raw& raw_;
};

Status read_size(const char* flag, const std::string& text, int64_t* target) {
  auto size = parse_size(text);
  if (!size.ok()) return size.status().at(flag);
  *target = *size;
  return {};
}

Status read_sizes(const Raw& raw, Options* options) {
  STRAIT_TRY(read_size("-b", raw.min_bytes, &options->min_bytes));
  STRAIT_TRY(read_size("-e", raw.max_bytes, &options->max_bytes));
  STRAIT_TRY(read_size("-i", raw.step_bytes, &options->step_bytes));
  options->step_factor = raw.step_factor > 1 ? raw.step_factor : 0;
  if (options->min_bytes > options->max_bytes)
    return error(Code::kInvalidArgument, "-b {} is larger than -e {}", raw.min_bytes,
                 raw.max_bytes);
  const bool stands_still =
      options->step_factor > 0 ? options->min_bytes == 0 : options->step_bytes == 0;
  if (stands_still && options->min_bytes < options->max_bytes)
    return error(Code::kInvalidArgument, "sizes from -b {} never reach -e {}; {}", raw.min_bytes,
                 raw.max_bytes,
                 options->step_factor > 0 ? "begin above 0 or step with -i" : "give -i or -f");
  return {};
}

Status read_operation(const Raw& raw, Options* options) {
  if (raw.type == "all") {
    options->types.clear();
    for (int i = 0; i < kDataTypeCount; ++i) options->types.push_back(static_cast<DataType>(i));
  } else if (const auto type = parse_data_type(raw.type)) {
    options->types = {*type};
  } else {
    return error(Code::kInvalidArgument, "-d \"{}\" is no data type; -h lists them", raw.type);
  }
  if (raw.kind == "all") {
    options->kinds.clear();
    for (int i = 0; i < kReduceKindCount; ++i) options->kinds.push_back(static_cast<ReduceKind>(i));
  } else if (const auto kind = parse_reduce_kind(raw.kind)) {
    options->kinds = {*kind};
  } else {
    return error(Code::kInvalidArgument, "-o \"{}\" is no operation; -h lists them", raw.kind);
  }
  return {};
}

Status check_rate(const char* flag, const std::string& text) {
  if (text.empty()) return {};
  auto rate = parse_rate(text);
  return rate.ok() ? Status() : rate.status().at(flag);
}

Status read_rest(Options* options) {
  if (!options->json_path.empty() && !options->json_path.ends_with(".json"))
    return error(Code::kInvalidArgument, "-J \"{}\" does not end in .json", options->json_path);
  STRAIT_TRY(check_rate("--link-rate", options->link_rate));
  STRAIT_TRY(check_rate("--bound-rate", options->bound_rate));
  const bool words =
      options->data == "random" || options->data == "normal" || options->data == "zeros";
  if (!words && !options->data.ends_with(".safetensors"))
    return error(Code::kInvalidArgument,
                 "--data \"{}\" is neither random, normal, zeros nor a .safetensors file",
                 options->data);
  if (options->per_iteration_skip >= options->iterations)
    return error(Code::kInvalidArgument, "-K {} leaves none of -n {} iterations",
                 options->per_iteration_skip, options->iterations);
  if (options->graph_launches > 0 && (options->times_each_iteration() || options->blocking > 0))
    return error(Code::kInvalidArgument,
                 "-G {}: a graph's iterations have no times and no waits of their own; leave out "
                 "-I, -z, --median and --percentiles",
                 options->graph_launches);
  return {};
}

// What nccl-tests also refuses where the library cannot do it.
Status refuse_unsupported(const Raw& raw) {
  if (raw.device_implementation == 0) return {};
  return error(Code::kInvalidUsage,
               "-D {}: the library has no device API for kernels of a program's own; leave it out",
               raw.device_implementation);
}

Status finish(const Raw& raw, Options* options) {
  STRAIT_TRY(read_sizes(raw, options));
  STRAIT_TRY(read_operation(raw, options));
  return read_rest(options);
}

}  // namespace

ParsedOptions parse_options(const std::string& program, int argc, const char* const* argv) {
  Options options;
  Raw raw;
  CLI::App app("Measures " + program + " as nccl-tests does, on GPUs or hosts.", program);
  // As with getopt, the last of a repeated flag counts.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  const FlagTable flags(&app, &options, &raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return {std::nullopt, ExitCode::kSuccess, app.help()};
  } catch (const CLI::ParseError& complaint) {
    return {std::nullopt, ExitCode::kInvalidUsage,
            fmt::format("{}: {}; -h lists the flags\n", program, complaint.what())};
  }
  if (const Status refused = refuse_unsupported(raw); !refused.ok())
    return {std::nullopt, ExitCode::kNotImplemented,
            fmt::format("{}: {}\n", program, refused.message())};
  if (const Status status = finish(raw, &options); !status.ok())
    return {std::nullopt, ExitCode::kInvalidUsage,
            fmt::format("{}: {}\n", program, status.message())};
  return {std::move(options), ExitCode::kSuccess, ""};
}

Result<int> parse_first_device(const char* text, int process) {
  if (text == nullptr) return -1;
  std::string_view digits = text;
  const bool divides = digits.starts_with("r/");
  if (divides) digits.remove_prefix(2);
  int number = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < (divides ? 1 : 0))
    return error(Code::kInvalidArgument, "NCCL_TESTS_DEVICE=\"{}\" is neither a number nor r/N",
                 text);
  return divides ? process / number : number;
}

Result<double> parse_bandwidth_floor(const char* text) {
  if (text == nullptr) return -1.0;
  double floor = 0;
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, floor);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(floor >= 0))
    return error(Code::kInvalidArgument, "NCCL_TESTS_MIN_BW=\"{}\" is not a number of GB/s", text);
  return floor;
}

Result<std::vector<Setting>> library_settings(const Options& options, int ranks) {
  std::vector<Setting> settings;
  if (!options.compress.empty()) settings.emplace_back("STRAIT_COMPRESS", options.compress);
  if (!options.link_rate.empty()) settings.emplace_back("STRAIT_LINK_RATE", options.link_rate);
  if (options.racks > 0) {
    if (ranks % options.racks != 0)
      return error(Code::kInvalidArgument,
                   "--racks {} does not divide the {} ranks; choose a number that does",
                   options.racks, ranks);
    settings.emplace_back("STRAIT_EMULATE_DOMAINS", std::to_string(ranks / options.racks));
  }
  return settings;
}

}  // namespace strait::perf
