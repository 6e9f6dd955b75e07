#include "perf/engine/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/units.hpp"
#include "perf/engine/progress.hpp"

namespace strait::perf {
namespace {

// Whether the user asks for algorithms whose order of addition is not the documented one.
bool asks_for_other_orders() {
  for (const char* name : {"STRAIT_ALGO", "NCCL_ALGO"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    for (const char* word : {"ring", "tree", "^"})
      if (::strcasestr(value, word) != nullptr) return true;
  }
  return false;
}

std::string in_force(const std::string& option, const char* variable, const char* otherwise) {
  if (!option.empty()) return option;
  const char* value = std::getenv(variable);
  return value != nullptr ? value : otherwise;
}

int domain_count_of(const std::vector<RankPlace>& places) {
  int count = 1;
  for (const RankPlace& place : places) count = std::max(count, place.domain + 1);
  return count;
}

ExitCode exit_code_of(Code code) {
  switch (code) {
    case Code::kOk:
      return ExitCode::kSuccess;
    case Code::kCudaError:
      return ExitCode::kCudaError;
    case Code::kTimeout:
      return ExitCode::kTimeout;
    default:
      return ExitCode::kNcclError;
  }
}

}  // namespace

void Session::stop(ExitCode code, const std::string& sentence) {
  stopping_.lock();  // for good: the first failure ends the process
  for (const auto& report : reports_) report->failed(sentence);
  if (reports_.empty())
    std::fprintf(stderr, "# error: process %d: %s\n", launcher_.rank(), sentence.c_str());
  launcher_.abort(static_cast<int>(code));
  ::_exit(static_cast<int>(code));
}

void Session::fail(const Status& status) {
  stop(exit_code_of(status.code()), status.message());
}

Status Session::open_reports() {
  if (launcher_.rank() != 0) return {};
  reports_.push_back(make_text_report(plan_.options));
  if (plan_.options.json_path.empty()) return {};
  STRAIT_ASSIGN(auto json, make_json_report(plan_.options));
  reports_.push_back(std::move(json));
  return {};
}

bool Session::order_is_known() const {
  return plan_.collective.adds_in_order && !asks_for_other_orders();
}

std::string Session::check_in_words() const {
  if (!plan_.collective.reduces) return "bit for bit";
  if (plan_.source.exact_in_any_order())
    return "bit for bit (averages: within two units of the last place)";
  if (order_is_known()) return "bit for bit (averages and mulsum of floats: within rounding)";
  return "within rounding: the order of addition is the algorithm's";
}

Result<BoundRule> Session::bound_rule(const std::vector<RankPlace>& places) const {
  const Options& options = plan_.options;
  if (domain_count_of(places) < 2) return BoundRule{};
  const std::string text = options.bound_rate.empty()
                               ? in_force(options.link_rate, "STRAIT_LINK_RATE", "0")
                               : options.bound_rate;
  STRAIT_ASSIGN(const int64_t bytes_per_s, parse_rate(text));
  return BoundRule{static_cast<double>(bytes_per_s) / 1e6, options.bound_latency_us};
}

Preamble Session::preamble(std::vector<RankPlace> places, const BoundRule& bound) const {
  const Options& options = plan_.options;
  Preamble preamble;
  preamble.program = plan_.collective.program;
  preamble.arguments = plan_.arguments;
  preamble.launcher = name_of(plan_.environment.kind);
  preamble.processes = launcher_.size();
  preamble.compress = in_force(options.compress, "STRAIT_COMPRESS", "auto");
  preamble.link_rate = in_force(options.link_rate, "STRAIT_LINK_RATE", "not limited");
  preamble.domain_count = domain_count_of(places);
  (void)ncclGetVersion(&preamble.library_version);  // cannot fail with a valid pointer
  preamble.check = check_in_words();
  if (bound.bytes_per_us > 0)
    preamble.bound = fmt::format(
        "{:g} us + bytes that a rack must send, not compressed / {:g} MB/s; the column shows it as "
        "part of the slowest rank's time",
        bound.latency_us, bound.bytes_per_us);
  if (options.cta_policy >= 0 && !crew_.on_gpus())
    preamble.notes.push_back("-x: a host device has no CTAs; nothing changes");
  if (!plan_.collective.in_place)
    preamble.notes.push_back(
        "there is no in-place form; its columns show a second run out of place, unchecked");
  if (plan_.collective.runs_on != nullptr && !plan_.collective.runs_on(crew_.rank_count()))
    preamble.notes.push_back(
        fmt::format("not for {} ranks: nothing is measured", crew_.rank_count()));
  preamble.places = std::move(places);
  return preamble;
}

void Session::run_thread(Context& context, int thread, Conclusion* conclusion) {
  const Options& options = plan_.options;
  const Collective& collective = plan_.collective;
  std::vector<Test> tests;
  if (collective.runs_on == nullptr || collective.runs_on(crew_.rank_count()))
    tests = make_sweep(options, crew_.rank_count(), collective.reduces, collective.rooted);
  const bool tells = thread == 0 && launcher_.rank() == 0;
  Worker worker(context, thread, crew_.seats_of(thread));
  double bus_sum = 0;
  uint64_t sides = 0;
  for (int cycle = 0; (options.cycles == 0 || cycle < options.cycles) && !tests.empty(); ++cycle) {
    Progress progress(tests.size(), tells && (options.progress || ::isatty(STDERR_FILENO) != 0));
    for (size_t i = 0; i < tests.size(); ++i) {
      progress.begin_test(i);
      auto row = worker.measure(tests[i], &conclusion->errors);
      if (!row.ok()) fail(row.status());
      bus_sum += row->out_of_place.bus_gbps + row->in_place.bus_gbps;
      sides += 2;
      if (tells)
        for (const auto& report : reports_) report->add(*row);
    }
  }
  conclusion->average_bus_gbps = sides > 0 ? bus_sum / static_cast<double>(sides) : 0;
}

Conclusion Session::run_cycles(Context& context) {
  Conclusion conclusion;
  conclusion.min_bus_gbps = plan_.options.min_bus_gbps;
  std::vector<Conclusion> others(static_cast<size_t>(plan_.options.threads));
  std::vector<std::thread> threads;
  for (int t = 1; t < plan_.options.threads; ++t)
    threads.emplace_back([&, t] { run_thread(context, t, &others[static_cast<size_t>(t)]); });
  run_thread(context, 0, &conclusion);
  for (std::thread& thread : threads) thread.join();
  return conclusion;
}

ExitCode Session::measure(const std::vector<RankPlace>& places, const BoundRule& bound) {
  const Options& options = plan_.options;
  std::vector<int> domain_of, world_rank;
  for (const RankPlace& place : places) {
    if (place.color != crew_.color()) continue;
    domain_of.push_back(place.domain);
    world_rank.push_back(place.rank);
  }
  const Reference reference(plan_.source, domain_of, !order_is_known());
  const Reference direct(plan_.source, std::vector<int>(domain_of.size()), !order_is_known());
  const bool has_racks = domain_count_of(places) > 1;
  Team team(launcher_, options.threads, [this](const Status& status) { fail(status); });
  Alarm alarm(options.timeout_s, [this] {
    stop(ExitCode::kTimeout,
         fmt::format("a test took longer than -T {} seconds", plan_.options.timeout_s));
  });
  Context context{.collective = plan_.collective,
                  .options = options,
                  .reference = reference,
                  .direct_reference = has_racks ? &direct : nullptr,
                  .team = team,
                  .alarm = alarm,
                  .world_rank = world_rank,
                  .domain_of = domain_of,
                  .color = crew_.color(),
                  .world_size = crew_.world_size(),
                  .bound = bound,
                  .expected = {}};
  const Conclusion conclusion = run_cycles(context);
  for (const auto& report : reports_) report->end(conclusion);
  return conclusion.errors == 0 && conclusion.bandwidth_ok() ? ExitCode::kSuccess
                                                             : ExitCode::kWrongResults;
}

ExitCode Session::run() {
  if (const Status status = open_reports(); !status.ok()) fail(status);
  if (const Status status = crew_.sit_down(); !status.ok())
    stop(status.code() == Code::kInvalidUsage ? ExitCode::kNotImplemented
                                              : exit_code_of(status.code()),
         status.message());
  if (const Status status = crew_.join(); !status.ok()) fail(status);
  auto places = crew_.gather_places();
  if (!places.ok()) fail(places.status());
  const auto bound = bound_rule(*places);
  if (!bound.ok()) fail(bound.status());
  const Preamble known = preamble(*places, *bound);
  for (const auto& report : reports_) report->begin(known);
  const ExitCode code = measure(*places, *bound);
  crew_.leave();  // while all processes are still here
  return code;
}

}  // namespace strait::perf
