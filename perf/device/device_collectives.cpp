// device_collectives: collectives through NCCL's calls, several ranks on one GPU. `check` holds
// their bits against ranks on hosts, `speed` times all-reduces, of any libnccl. Findings go to
// standard output as records; the exit code is 0 if nothing failed.
#include <cstdlib>
#include <cstring>

#include "perf/device/collective_speed.hpp"
#include "perf/device/rank_crew.hpp"
#include "perf/device/record.hpp"

namespace strait::device_check {
namespace {

constexpr char kUsage[] =
    "usage: device_collectives check threads|processes LIBRARY RANKS [--tiny]\n"
    "       device_collectives speed NAME LIBRARY RANKS [--tiny]\n";

struct Variant {
  const char* name;
  std::map<std::string, std::string> settings;
};

// Inside a domain, and between two, with each kind of wire.
std::vector<Variant> variants(int rank_count, bool tiny) {
  std::vector<Variant> all = {{"one domain", {}}};
  if (rank_count % 2 != 0) return all;
  const std::string half = std::to_string(rank_count / 2);
  for (const char* compress : {"off", "fast", "dense"})
    if (!tiny || compress == std::string("fast"))
      all.push_back({compress, {{"STRAIT_EMULATE_DOMAINS", half}, {"STRAIT_COMPRESS", compress}}});
  return all;
}

bool check(const std::string& program, const std::string& kind, const CrewTerms& wanted) {
  bool passed = true;
  for (const Variant& variant : variants(wanted.rank_count, wanted.tiny)) {
    CrewTerms terms = wanted;
    terms.settings = variant.settings;
    terms.settings["STRAIT_TIMEOUT_MS"] = "30000";
    const Status status =
        kind == "threads" ? check_threads(terms) : check_processes(terms, program);
    Record record("collective check");
    record.with("ranks", terms.rank_count).with("as", kind);
    record.with("wire", variant.settings.empty() ? "one domain"
                                                 : fmt::format("2 domains, {}", variant.name));
    record.with("calls", static_cast<int>(collective_cases(terms.rank_count, terms.tiny).size()));
    passed &= write_check(std::move(record), status);
  }
  return passed;
}

bool speed(CollectiveSpeedTerms terms, bool tiny) {
  if (tiny) {
    terms.bytes_max = 16 << 10;
    terms.runs = 1;
  }
  const Status status = measure_all_reduce(terms);
  if (status.ok()) return true;
  Record record("all-reduce speed");
  record.with("library", terms.name).with("ranks", terms.rank_count).with("why", status.message());
  // What another library does not allow is no failure of ours.
  const bool ours = terms.name == "strait";
  record.write(ours ? Verdict::kFailed : Verdict::kSkipped);
  return !ours;
}

}  // namespace
}  // namespace strait::device_check

int main(int argc, char** argv) {
  using namespace strait;
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "rank") {
    const Status status = device_check::be_process(argc, argv);
    if (!status.ok()) fmt::print(stderr, "rank {}: {}\n", argv[4], status.message());
    return status.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  const bool tiny = argc == 6 && std::strcmp(argv[5], "--tiny") == 0;
  const int ranks = argc >= 5 ? device_check::whole_number(argv[4]) : 0;
  if ((argc != 5 && !tiny) || ranks < 1 || (command != "check" && command != "speed")) {
    fmt::print(stderr, "{}", device_check::kUsage);
    return 2;
  }
  bool passed = false;
  if (command == "check")
    passed = device_check::check(
        "/proc/self/exe", argv[2],
        {.library = argv[3], .rank_count = ranks, .tiny = tiny, .settings = {}});
  else
    passed = device_check::speed({.library = argv[3], .name = argv[2], .rank_count = ranks}, tiny);
  return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
