#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "perf/engine/report.hpp"

extern char** environ;

namespace strait::perf {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 3;

const char* word(bool value) {
  return value ? "true" : "false";
}

// The settings that shape a measurement, not the user's whole environment.
Json environment_of_interest() {
  Json variables = Json::array();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.starts_with("STRAIT_") || text.starts_with("NCCL_")) variables.push_back(text);
  }
  return variables;
}

Json side_json(const Side& side, bool cpu_time) {
  Json json;
  json[cpu_time ? "cpu_time" : "time"] = side.time_us;
  json["alg_bw"] = side.algorithm_gbps;
  json["bus_bw"] = side.bus_gbps;
  json["nwrong"] = side.wrong ? Json(*side.wrong) : Json(nullptr);
  if (side.bound_percent) json["bound_percent"] = *side.bound_percent;
  return json;
}

Json iterations_json(const Iterations& each) {
  const Statistics& all = each.statistics;
  return {{"min_us", all.min_us},         {"max_us", all.max_us},
          {"avg_us", all.mean_us},        {"p50_us", all.p50_us},
          {"p95_us", all.p95_us},         {"p99_us", all.p99_us},
          {"stdev_us", all.deviation_us}, {"cv_pct", all.variation_percent},
          {"times_us", each.times_us},    {"per_process_max_times_us", each.by_process}};
}

Json links_json(const std::vector<LinkBytes>& links) {
  Json json = Json::array();
  for (const LinkBytes& link : links)
    json.push_back({{"from", link.from},
                    {"to", link.to},
                    {"value_bytes", link.value_bytes},
                    {"wire_bytes", link.wire_bytes}});
  return json;
}

class JsonReport : public Report {
 public:
  JsonReport(const Options& options, UniqueFd file) : options_(options), file_(std::move(file)) {}

  void begin(const Preamble& preamble) override {
    json_["version"] = kFormatVersion;
    json_["start_time"] = timestamp();
    json_["args"] = preamble.arguments;
    json_["env"] = environment_of_interest();
    json_["nccl_version"] = preamble.library_version;
    json_["config"] = config(preamble);
    json_["results"] = Json::array();
    json_["errors"] = Json::array();
  }

  void add(const Row& row) override {
    Json json;
    json["size"] = row.bytes;
    json["count"] = row.count;
    json["type"] = name_of(row.type);
    json["redop"] = row.kind;
    json["root"] = fmt::format("{:6}", row.root);  // text, as nccl-tests has it
    json["out_of_place"] = side_json(row.out_of_place, options_.cpu_time);
    if (row.out_of_place.each)
      json["out_of_place_per_iter"] = iterations_json(*row.out_of_place.each);
    json["in_place"] = side_json(row.in_place, options_.cpu_time);
    if (row.in_place.each) json["in_place_per_iter"] = iterations_json(*row.in_place.each);
    json["actual_iterations"] = row.iterations;
    json["wire_bytes"] = row.wire_bytes;
    json["wire_saving"] = row.wire_saving;
    if (row.bound_us > 0) json["bound_us"] = row.bound_us;
    if (options_.per_link) json["links"] = links_json(row.links);
    json["result_hash"] = fmt::format("{:016x}", row.result_hash);
    json_["results"].push_back(std::move(json));
  }

  void failed(const std::string& sentence) override {
    json_["errors"].push_back(sentence);
    write();
  }

  void end(const Conclusion& conclusion) override {
    json_["out_of_bounds"] = {{"count", conclusion.errors}, {"okay", word(conclusion.errors == 0)}};
    const bool unchecked = conclusion.min_bus_gbps < 0;
    json_["average_bus_bandwidth"] = {
        {"bandwidth", conclusion.average_bus_gbps},
        {"okay", unchecked ? "unchecked" : word(conclusion.bandwidth_ok())}};
    write();
  }

 private:
  Json config(const Preamble& preamble) const {
    Json json = {{"nthreads", options_.threads},
                 {"ngpus", options_.devices},
                 {"minimum_bytes", options_.min_bytes},
                 {"maximum_bytes", options_.max_bytes}};
    if (options_.step_factor > 0)
      json["step_factor"] = options_.step_factor;
    else
      json["step_bytes"] = options_.step_bytes;
    json.update({{"warmup_iters", options_.warmup},
                 {"iterations", options_.iterations},
                 {"aggregated_iterations", options_.aggregate},
                 {"validation", options_.check},
                 {"graph", options_.graph_launches},
                 {"unalign", options_.unalign ? 1 : 0},
                 {"blocking_collectives", word(options_.blocking > 0)},
                 {"per_iter_timing", word(options_.per_iteration)},
                 {"per_iter_skip", options_.per_iteration_skip},
                 {"parallel_init", word(options_.parallel_init)}});
    // Ours.
    json.update({{"processes", preamble.processes},
                 {"average", options_.average},
                 {"median", word(options_.median)},
                 {"data", options_.data},
                 {"compress", preamble.compress},
                 {"racks", preamble.domain_count},
                 {"link_rate", preamble.link_rate},
                 {"bound", preamble.bound},
                 {"launcher", preamble.launcher}});
    json["devices"] = devices(preamble);
    return json;
  }

  static Json devices(const Preamble& preamble) {
    Json devices = Json::array();
    for (const RankPlace& place : preamble.places)
      devices.push_back({{"rank", place.rank},
                         {"group", place.color},
                         {"pid", place.pid},
                         {"hostname", place.host},
                         {"device", place.device},
                         {"device_hex", place.bus},
                         {"device_info", place.device_name},
                         {"rack", place.domain}});
    return devices;
  }

  // Failing to write is told, and is no reason to lose what is on the screen.
  void write() {
    json_["end_time"] = timestamp();
    const std::string text = json_.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t written = ::write(file_.get(), text.data() + done, text.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        fmt::print(stderr, "# error: {}\n",
                   system_error("cannot write " + options_.json_path).message());
        return;
      }
      done += static_cast<size_t>(written);
    }
  }

  const Options& options_;
  UniqueFd file_;
  Json json_;
};

}  // namespace

Result<std::unique_ptr<Report>> make_json_report(const Options& options) {
  constexpr int kNamesTried = 10'000;
  for (int attempt = -1; attempt < kNamesTried; ++attempt) {
    const std::string path =
        attempt < 0 ? options.json_path : fmt::format("{}.{}", options.json_path, attempt);
    UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file) {
      fmt::print("# Writing JSON output to {}\n", path);
      return std::unique_ptr<Report>(std::make_unique<JsonReport>(options, std::move(file)));
    }
    if (errno != EEXIST) return system_error("cannot create " + path);
  }
  return error(Code::kSystemError, "{} and {} more names exist already; remove some",
               options.json_path, kNamesTried);
}

}  // namespace strait::perf
