#include "perf/engine/session.hpp"

#include <strait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/clock.hpp"

namespace strait::perf {
namespace {

constexpr int64_t kProgressEveryNs = 5'000'000'000;

// What every rank tells of itself; crosses processes as bytes.
struct RankFacts {
  int pid;
  int domain;
  int domain_count;
  char host[64];
};

// The algorithms whose order of addition is not the documented one.
bool order_is_free() {
  const char* algorithm = std::getenv("STRAIT_ALGO");
  if (algorithm == nullptr) return false;
  return std::strcmp(algorithm, "ring") == 0 || std::strcmp(algorithm, "tree") == 0;
}

std::string in_force(const std::string& option, const char* variable, const char* otherwise) {
  if (!option.empty()) return option;
  const char* value = std::getenv(variable);
  return value != nullptr ? value : otherwise;
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

Session::Session(const Collective& collective, const Options& options, const Source& source,
                 std::string command_line, const LaunchEnvironment& environment, Launcher& launcher)
    : collective_(collective),
      options_(options),
      source_(source),
      command_line_(std::move(command_line)),
      environment_(environment),
      launcher_(launcher) {
  for (int i = 0; i < options_.threads * options_.devices; ++i)
    seats_.push_back(std::make_unique<Seat>(first_rank() + i));
}

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
  reports_.push_back(make_text_report(options_));
  if (options_.json_path.empty()) return {};
  STRAIT_ASSIGN(auto json, make_json_report(options_));
  reports_.push_back(std::move(json));
  return {};
}

Status Session::join_ranks(const ncclUniqueId& id, size_t first, size_t count) {
  STRAIT_TRY(told("ncclGroupStart", ncclGroupStart()));
  for (size_t i = first; i < first + count; ++i)
    STRAIT_TRY(told("ncclCommInitRank",
                    ncclCommInitRank(seats_[i]->comm_slot(), rank_count(), id, seats_[i]->rank())));
  return told("making the communicator", ncclGroupEnd());
}

Status Session::join_in_threads(const ncclUniqueId& id) {
  const auto per_thread = static_cast<size_t>(options_.devices);
  std::vector<Status> verdicts(static_cast<size_t>(options_.threads));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < verdicts.size(); ++t)
    threads.emplace_back([&, t] { verdicts[t] = join_ranks(id, t * per_thread, per_thread); });
  for (std::thread& thread : threads) thread.join();
  for (const Status& verdict : verdicts) STRAIT_TRY(verdict);
  return {};
}

Status Session::make_communicators() {
  ncclUniqueId id{};
  if (launcher_.rank() == 0) STRAIT_TRY(told("ncclGetUniqueId", ncclGetUniqueId(&id)));
  STRAIT_TRY(launcher_.broadcast(std::as_writable_bytes(std::span(&id, 1))));
  STRAIT_TRY(options_.parallel_init ? join_in_threads(id) : join_ranks(id, 0, seats_.size()));
  return make_buffers();
}

Status Session::make_buffers() {
  for (const auto& seat : seats_) {
    const auto most = static_cast<uint64_t>(options_.max_bytes);
    const Layout layout = collective_.layout(most, rank_count(), seat->rank());
    // One more element of any type: room for -u.
    STRAIT_TRY(seat->make_buffers(std::max(layout.send_count, layout.recv_count) + 8));
    if (!options_.null_stream) STRAIT_TRY(seat->make_stream());
  }
  return {};
}

Result<std::vector<RankPlace>> Session::gather_places() {
  std::vector<RankFacts> mine;
  for (const auto& seat : seats_) {
    straitCommStats_t stats{};
    stats.size = sizeof(stats);
    STRAIT_TRY(told("straitCommGetStats", straitCommGetStats(seat->comm(), &stats)));
    RankFacts facts{::getpid(), stats.domain, stats.domain_count, {}};
    ::gethostname(facts.host, sizeof(facts.host) - 1);
    mine.push_back(facts);
  }
  STRAIT_ASSIGN(const std::vector<std::byte> bytes,
                launcher_.all_gather(std::as_bytes(std::span(mine))));
  std::vector<RankPlace> places;
  for (size_t rank = 0; rank < bytes.size() / sizeof(RankFacts); ++rank) {
    RankFacts facts;
    std::memcpy(&facts, bytes.data() + rank * sizeof(RankFacts), sizeof(RankFacts));
    const int index = static_cast<int>(rank);
    const auto before = std::count_if(places.begin(), places.end(), [&](const RankPlace& place) {
      return place.host == facts.host;
    });
    places.push_back({index, index / (options_.threads * options_.devices), facts.pid, facts.domain,
                      static_cast<int>(before), facts.host});
  }
  return places;
}

Preamble Session::preamble(std::vector<RankPlace> places) const {
  Preamble preamble;
  preamble.program = collective_.program;
  preamble.command_line = command_line_;
  preamble.launcher = name_of(environment_.kind);
  preamble.processes = launcher_.size();
  preamble.compress = in_force(options_.compress, "STRAIT_COMPRESS", "auto");
  preamble.link_rate = in_force(options_.link_rate, "STRAIT_LINK_RATE", "not limited");
  for (const RankPlace& place : places)
    preamble.domain_count = std::max(preamble.domain_count, place.domain + 1);
  (void)ncclGetVersion(&preamble.library_version);  // cannot fail with a valid pointer
  if (source_.exact_in_any_order())
    preamble.check = "bit for bit (averages: within two units of the last place)";
  else if (!order_is_free())
    preamble.check = "bit for bit (averages and mulsum of floats: within rounding)";
  else
    preamble.check = "within rounding: STRAIT_ALGO adds in an order of its own";
  preamble.places = std::move(places);
  return preamble;
}

void Session::progress(size_t done, size_t total, int64_t begin_ns) {
  const int64_t now = now_ns();
  if (done == 0 || done >= total || now - std::max(begin_ns, progress_ns_) < kProgressEveryNs)
    return;
  progress_ns_ = now;
  const double spent_s = static_cast<double>(now - begin_ns) / 1e9;
  std::fprintf(stderr, "# %zu of %zu tests in %.0f s, about %.0f s to go\n", done, total, spent_s,
               spent_s / static_cast<double>(done) * static_cast<double>(total - done));
}

Conclusion Session::run_cycles(Context& context) {
  const std::vector<Test> tests =
      make_sweep(options_, rank_count(), collective_.reduces, collective_.rooted);
  Conclusion conclusion;
  conclusion.min_bus_gbps = options_.min_bus_gbps;
  const auto work = [&](int thread, Conclusion* result) {
    const auto per_thread = static_cast<size_t>(options_.devices);
    std::vector<Seat*> seats;
    for (size_t i = 0; i < per_thread; ++i)
      seats.push_back(seats_[static_cast<size_t>(thread) * per_thread + i].get());
    Worker worker(context, thread, std::move(seats));
    const bool tells = thread == 0 && launcher_.rank() == 0;
    double bus_sum = 0;
    uint64_t sides = 0;
    const int64_t begin_ns = now_ns();
    for (int cycle = 0; options_.cycles == 0 || cycle < options_.cycles; ++cycle)
      for (size_t i = 0; i < tests.size(); ++i) {
        if (tells) progress(i, tests.size(), begin_ns);
        auto row = worker.measure(tests[i], &result->errors);
        if (!row.ok()) fail(row.status());
        bus_sum += row->out_of_place.bus_gbps + row->in_place.bus_gbps;
        sides += 2;
        if (tells)
          for (const auto& report : reports_) report->add(*row);
      }
    result->average_bus_gbps = sides > 0 ? bus_sum / static_cast<double>(sides) : 0;
  };
  std::vector<Conclusion> others(static_cast<size_t>(options_.threads));
  std::vector<std::thread> threads;
  for (int t = 1; t < options_.threads; ++t)
    threads.emplace_back(work, t, &others[static_cast<size_t>(t)]);
  work(0, &conclusion);
  for (std::thread& thread : threads) thread.join();
  return conclusion;
}

ExitCode Session::measure(const std::vector<RankPlace>& places) {
  std::vector<int> domain_of;
  for (const RankPlace& place : places) domain_of.push_back(place.domain);
  const Reference reference(source_, domain_of, order_is_free());
  Team team(launcher_, options_.threads, [this](const Status& status) { fail(status); });
  Alarm alarm(options_.timeout_s, [this] {
    stop(ExitCode::kTimeout,
         fmt::format("a test took longer than -T {} seconds", options_.timeout_s));
  });
  Context context{collective_, options_, reference, team, alarm, rank_count(), {}};
  const Conclusion conclusion = run_cycles(context);
  for (const auto& report : reports_) report->end(conclusion);
  return conclusion.errors == 0 && conclusion.bandwidth_ok() ? ExitCode::kSuccess
                                                             : ExitCode::kWrongResults;
}

ExitCode Session::run() {
  if (const Status status = open_reports(); !status.ok()) fail(status);
  if (const Status status = make_communicators(); !status.ok()) fail(status);
  auto places = gather_places();
  if (!places.ok()) fail(places.status());
  const Preamble known = preamble(*places);
  for (const auto& report : reports_) report->begin(known);
  const ExitCode code = measure(*places);
  seats_.clear();  // while all processes are still here
  return code;
}

}  // namespace strait::perf
