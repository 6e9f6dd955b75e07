#include <fmt/format.h>
#include <nccl.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <functional>

#include "perf/engine/report.hpp"

namespace strait::perf {
namespace {

// As many decimals as the width has room for.
std::string fitted(double value, int width) {
  const int digits = static_cast<int>(fmt::format("{:.0f}", value).size());
  const int decimals = digits < width - 2 ? 2 : digits < width - 1 ? 1 : 0;
  return fmt::format("{:{}.{}f}", value, width, decimals);
}

// A column of one side of the table: its width, three heading lines' last two, and what stands in
// it.
struct Column {
  int width;
  const char* name;
  const char* unit;
  std::function<std::string(const Side&)> show;
};

std::string show_wrong(const Side& side) {
  return side.wrong ? fmt::format("{}", *side.wrong) : "N/A";
}

std::string show_bound(const Side& side) {
  return side.bound_percent ? fitted(*side.bound_percent, 7) : "-";
}

std::vector<Column> side_columns(const Options& options, bool with_bound) {
  std::vector<Column> columns = {
      {8, "time", "(us)", [](const Side& side) { return fitted(side.time_us, 8); }},
      {7, "algbw", "(GB/s)", [](const Side& side) { return fitted(side.algorithm_gbps, 7); }},
      {7, "busbw", "(GB/s)", [](const Side& side) { return fitted(side.bus_gbps, 7); }},
      {7, "#wrong", "", show_wrong},
  };
  using Member = double Statistics::*;
  const auto add = [&](const char* name, const char* unit, Member member) {
    columns.push_back({9, name, unit, [member](const Side& side) {
                         return fitted(side.each->statistics.*member, 9);
                       }});
  };
  if (options.per_iteration) {
    add("i_min", "(us)", &Statistics::min_us);
    add("i_max", "(us)", &Statistics::max_us);
    add("i_p99", "(us)", &Statistics::p99_us);
    add("i_cv%", "", &Statistics::variation_percent);
  }
  if (options.percentiles) {
    add("p50", "(us)", &Statistics::p50_us);
    add("p99", "(us)", &Statistics::p99_us);
  }
  if (with_bound) columns.push_back({7, "bound", "(%)", show_bound});
  return columns;
}

class TextReport : public Report {
 public:
  explicit TextReport(const Options& options) : options_(options) {}

  void begin(const Preamble& preamble) override {
    program_ = preamble.program;
    columns_ = side_columns(options_, !preamble.bound.empty());
    const std::string step = options_.step_factor > 0
                                 ? fmt::format("{}(factor)", options_.step_factor)
                                 : fmt::format("{}(bytes)", options_.step_bytes);
    fmt::print("# nccl-tests version 2.19.6 nccl-headers={} nccl-library={}\n", NCCL_VERSION_CODE,
               preamble.library_version);
    fmt::print("# Collective test starting: {}\n", program_);
    fmt::print(
        "# nThread {} nGpus {} minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} "
        "agg iters: {} validation: {} graph: {} unalign: {}\n",
        options_.threads, options_.devices, options_.min_bytes, options_.max_bytes, step,
        options_.warmup, options_.iterations, options_.aggregate, options_.check,
        options_.graph_launches, options_.unalign ? 1 : 0);
    fmt::print("# Strait: data {}, compression {}, {} racks, link rate {}, started by {}\n",
               options_.data, preamble.compress, preamble.domain_count, preamble.link_rate,
               preamble.launcher);
    fmt::print("# Strait: results are compared {}\n", preamble.check);
    if (!preamble.bound.empty()) fmt::print("# Strait: bound: {}\n", preamble.bound);
    for (const std::string& note : preamble.notes) fmt::print("# note: {}\n", note);
    fmt::print("#\n# Using devices\n");
    for (const RankPlace& place : preamble.places)
      fmt::print("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [{}] {}rack {}\n",
                 place.rank, place.color, place.pid, place.host, place.device,
                 place.bus.empty() ? place.device_name : place.bus,
                 place.bus.empty() ? "" : place.device_name + " ", place.domain);
    print_headings();
    std::fflush(stdout);
  }

  void add(const Row& row) override {
    fmt::print("{:12}  {:12}  {:>8}  {:>6}  {:6}", row.bytes, row.count, name_of(row.type),
               row.kind, row.root);
    print_side(row.out_of_place);
    print_side(row.in_place);
    fmt::print("  {:12} {:7.2f}", row.wire_bytes, row.wire_saving);
    if (options_.timestamps) fmt::print("  {}", timestamp());
    fmt::print("\n");
    for (const LinkBytes& link : row.links)
      fmt::print("#   rank {} -> rank {}: {} B of values, {} B on the wire\n", link.from, link.to,
                 link.value_bytes, link.wire_bytes);
    for (const std::string& line : row.footnotes) fmt::print("# {}\n", line);
    std::fflush(stdout);
  }

  void failed(const std::string& sentence) override {
    std::fflush(stdout);
    fmt::print(stderr, "# error: {}\n", sentence);
  }

  void end(const Conclusion& conclusion) override {
    fmt::print("# Out of bounds values : {} {}\n", conclusion.errors,
               conclusion.errors == 0 ? "OK" : "FAILED");
    fmt::print("# Avg bus bandwidth    : {:g} {}\n", conclusion.average_bus_gbps,
               conclusion.min_bus_gbps < 0 ? ""
               : conclusion.bandwidth_ok() ? "OK"
                                           : "FAILED");
    if (options_.memory_report) print_memory();
    fmt::print("#\n# Collective test concluded: {}\n", program_);
    std::fflush(stdout);
  }

 private:
  void print_side(const Side& side) const {
    fmt::print(" ");
    for (const Column& column : columns_) fmt::print(" {:>{}}", column.show(side), column.width);
  }

  void print_headings() const {
    int width = 1;
    std::string names = " ", units = " ";
    for (const Column& column : columns_) {
      width += column.width + 1;
      names += fmt::format(" {:>{}}", column.name, column.width);
      units += fmt::format(" {:>{}}", column.unit, column.width);
    }
    fmt::print("#\n#{:51}{:^{}}{:^{}}  {:>20}\n", "", "out-of-place", width, "in-place", width,
               "between racks");
    fmt::print("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}{}{}  {:>12} {:>7}{}\n", "size", "count",
               "type", "redop", "root", names, names, "wire", "saving",
               options_.timestamps ? "  time" : "");
    fmt::print("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}{}{}  {:>12} {:>7}\n", "(B)", "(elements)", "",
               "", "", units, units, "(B)", "(%)");
  }

  static void print_memory() {
    std::FILE* status = std::fopen("/proc/self/status", "re");
    if (status == nullptr) return;
    char line[256];
    long kilobytes = 0;
    while (std::fgets(line, sizeof(line), status) != nullptr)
      if (std::sscanf(line, "VmHWM: %ld kB", &kilobytes) == 1) break;
    std::fclose(status);
    fmt::print("# {:<20} : {} MiB resident at most (process 0)\n", "Host memory usage",
               kilobytes / 1024);
  }

  const Options& options_;
  std::string program_;
  std::vector<Column> columns_;
};

}  // namespace

std::string timestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::unique_ptr<Report> make_text_report(const Options& options) {
  return std::make_unique<TextReport>(options);
}

}  // namespace strait::perf
