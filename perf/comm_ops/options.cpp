#include "perf/comm_ops/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

namespace strait::perf {
namespace {

constexpr int kMany = 1 << 30;

const std::vector<std::pair<std::string, CommTest>> kTests = {{"init", CommTest::kInit},
                                                              {"split", CommTest::kSplit},
                                                              {"shrink", CommTest::kShrink},
                                                              {"grow", CommTest::kGrow}};

struct Raw {
  std::string test, sweep = "factor-2", resize = "factor-2";
};

void add_flags(CLI::App* app, CommOptions* o, Raw* raw) {
  const auto number = [&](const char* name, int& target, int low, const char* help) {
    app->add_option(name, target, help)->check(CLI::Range(low, kMany))->capture_default_str();
  };
  app->add_option("test", raw->test, "init|split|shrink|grow")->required();
  number("-t,--nthreads", o->threads, 1, "ranks per process, each a thread");
  app->add_flag("-a,--abort", o->aborts, "abort communicators in place of finalizing them");
  app->add_flag("-A,--all-timers", o->all_timers, "also times what is not the library's");
  app->add_option("-s,--sweep-comms", raw->sweep, "factor-N|step-N|fixed: sizes to try")
      ->capture_default_str();
  number("-b,--sweep-begin", o->sweep_begin, 0, "ranks to begin with; 0: all");
  number("-e,--sweep-end", o->sweep_end, 0, "ranks to end with; 0: one");
  number("-F,--flush-interval", o->flush_interval, 1,
         "events between exchanges of times; with -v they print then");
  number("-i,--iterations", o->iterations, 1, "timed iterations");
  number("-w,--warmup", o->warmup, 0, "iterations before, not timed");
  number("-W,--work-iterations", o->work_iterations, 0, "all-reduces on each communicator");
  app->add_option("-r,--resize", raw->resize, "factor-N|step-N: what split, shrink and grow change")
      ->capture_default_str();
  number("-R,--root-every", o->root_every, 0, "ranks per unique id; 0: one id for all");
  app->add_flag("-S,--share", o->share, "splitShare and shrinkShare");
  app->add_flag("-v,--verbose", o->verbose, "a line for each event");
}

Status finish(const Raw& raw, CommOptions* options) {
  const auto known = std::find_if(kTests.begin(), kTests.end(),
                                  [&](const auto& entry) { return entry.first == raw.test; });
  if (known == kTests.end())
    return error(Code::kInvalidArgument, "\"{}\" is none of init, split, shrink, grow", raw.test);
  options->test = known->second;
  auto sweep = Change::parse(raw.sweep);
  if (!sweep.ok()) return sweep.status().at("-s");
  options->sweep = *sweep;
  auto resize = Change::parse(raw.resize);
  if (!resize.ok()) return resize.status().at("-r");
  options->resize = *resize;
  if (options->resize.kind == Change::Kind::kFixed)
    return error(Code::kInvalidArgument, "-r fixed changes nothing; give factor-N or step-N");
  if (options->test == CommTest::kSplit && options->share && options->aborts)
    return error(Code::kInvalidArgument,
                 "split with -S and -a would abort the parent too; give one of them");
  return {};
}

}  // namespace

Result<Change> Change::parse(const std::string& text) {
  Change change;
  if (text == "fixed") return Change{Kind::kFixed, 0};
  std::string_view number = text;
  if (text.starts_with("factor-")) {
    number.remove_prefix(7);
  } else if (text.starts_with("step-")) {
    change.kind = Kind::kStep;
    number.remove_prefix(5);
  } else {
    return error(Code::kInvalidArgument, "\"{}\" is none of factor-N, step-N, fixed", text);
  }
  const char* end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, change.amount);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(change.amount > 0) ||
      !std::isfinite(change.amount))
    return error(Code::kInvalidArgument, "\"{}\": \"{}\" is no number above 0", text, number);
  if (change.kind == Kind::kFactor && change.amount < 1) change.amount = 1 / change.amount;
  return change;
}

ParsedCommOptions parse_comm_options(int argc, const char* const* argv) {
  CommOptions options;
  Raw raw;
  CLI::App app("Measures how long communicators take to make, split, shrink and grow.",
               "comm_ops_perf");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_flags(&app, &options, &raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return {std::nullopt, ExitCode::kSuccess, app.help()};
  } catch (const CLI::ParseError& complaint) {
    return {std::nullopt, ExitCode::kInvalidUsage,
            fmt::format("comm_ops_perf: {}; -h lists the flags\n", complaint.what())};
  }
  if (const Status status = finish(raw, &options); !status.ok())
    return {std::nullopt, ExitCode::kInvalidUsage,
            fmt::format("comm_ops_perf: {}\n", status.message())};
  return {options, ExitCode::kSuccess, ""};
}

std::vector<int> swept_sizes(const CommOptions& options, int ranks) {
  const auto within = [&](int wanted, int otherwise) {
    return wanted == 0 ? otherwise : std::min(wanted, ranks);
  };
  const int begin = within(options.sweep_begin, ranks), end = within(options.sweep_end, 1);
  const bool up = begin < end;
  std::vector<int> sizes;
  for (int size = begin; up ? size <= end : size >= end;) {
    sizes.push_back(size);
    if (options.sweep.kind == Change::Kind::kFixed || size == end) break;
    const double amount = options.sweep.amount;
    const double next = options.sweep.kind == Change::Kind::kFactor
                            ? (up ? size * amount : size / amount)
                            : (up ? size + amount : size - amount);
    const int rounded = static_cast<int>(std::clamp(std::round(next), 0.0, 1.0 * kMany));
    size = rounded != size ? rounded : size + (up ? 1 : -1);
  }
  return sizes;
}

int resize_color(const Change& resize, int rank, int count) {
  const double first_part =
      resize.kind == Change::Kind::kFactor ? count / resize.amount : count - resize.amount;
  return rank < first_part ? 0 : 1;
}

}  // namespace strait::perf
