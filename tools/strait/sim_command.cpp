#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "plan/simulator.hpp"
#include "tools/strait/call.hpp"
#include "tools/strait/command.hpp"

namespace strait::tool {
namespace {

struct SimFlags {
  CallFlags call;
  Speeds speeds{.inside_latency_us = 1,
                .inside_rate = 10,
                .between_latency_us = 20,
                .memory_rate = 10,
                .step_us = 1};
  std::string between = "2gbit";
  std::string nic;
  int slots = 0;
  bool json = false;
};

// What is printed, in either form.
struct Answer {
  double algorithm_gbs = 0;
  double inside_busy = 0;
  double between_busy = 0;
  double engine_busy = 0;
};

Status read_rate(const char* flag, const std::string& text, double* gbs) {
  const auto rate = parse_rate(text);
  if (!rate.ok()) return rate.status().at(flag);
  *gbs = static_cast<double>(*rate) / 1e9;
  return {};
}

Answer answer_of(const PlannedCall& call, const Simulation& simulation) {
  Answer answer;
  if (simulation.total_us <= 0) return answer;
  answer.algorithm_gbs = static_cast<double>(call.bytes()) / simulation.total_us * 1e-3;
  answer.inside_busy = simulation.inside_busy_us / simulation.total_us;
  answer.between_busy = simulation.uplink_busy_us / simulation.total_us;
  for (const RankTimes& rank : simulation.ranks)
    answer.engine_busy = std::max(answer.engine_busy, rank.busy_us / simulation.total_us);
  return answer;
}

void print_json(const PlannedCall& call, const Simulation& simulation, const Answer& answer) {
  const nlohmann::ordered_json shown = {
      {"collective", name_of(call.request.collective)},
      {"topology", format(call.topology)},
      {"bytes", call.bytes()},
      {"algorithm", name_of(call.choice.algorithm)},
      {"lanes", call.choice.lanes},
      {"piece_bytes", call.choice.piece * size_of(call.request.type)},
      {"reason", call.choice.reason},
      {"total_us", simulation.total_us},
      {"algorithm_gbs", answer.algorithm_gbs},
      {"busy",
       {{"inside", answer.inside_busy},
        {"between", answer.between_busy},
        {"engine", answer.engine_busy}}},
      {"inside_bytes", simulation.inside_bytes},
      {"between_bytes", simulation.between_bytes},
      {"longest_wait", {{"us", simulation.longest_wait_us}, {"at", simulation.longest_wait_at}}},
  };
  fmt::print("{}\n", shown.dump(2));
}

void print_text(const PlannedCall& call, const Simulation& simulation, const Answer& answer) {
  const auto carried = [](double bytes) { return format_bytes(static_cast<uint64_t>(bytes)); };
  fmt::print("# {}\n", call.headline());
  fmt::print("time           {:.1f} us\n", simulation.total_us);
  fmt::print("bandwidth      {:.3f} GB/s of the collective's {}\n", answer.algorithm_gbs,
             format_bytes(call.bytes()));
  fmt::print("inside links   {:5.1f} % busy (the busiest), {} in all\n", 100 * answer.inside_busy,
             carried(simulation.inside_bytes));
  fmt::print("between links  {:5.1f} % busy (the busiest), {} in all\n", 100 * answer.between_busy,
             carried(simulation.between_bytes));
  fmt::print("engines        {:5.1f} % busy (the busiest)\n", 100 * answer.engine_busy);
  if (simulation.longest_wait_us > 0)
    fmt::print("longest wait   {:.1f} us at {}\n", simulation.longest_wait_us,
               simulation.longest_wait_at);
}

Status show(SimFlags& flags) {
  STRAIT_ASSIGN(const PlannedCall call, make_call(flags.call));
  STRAIT_TRY(read_rate("--between", flags.between, &flags.speeds.uplink_rate));
  if (!flags.nic.empty()) STRAIT_TRY(read_rate("--nic", flags.nic, &flags.speeds.nic_rate));
  const int slots = flags.slots > 0 ? flags.slots : static_cast<int>(call.config.slots);
  STRAIT_ASSIGN(const std::vector<Call> calls, call.calls());
  STRAIT_ASSIGN(const Simulation simulation, simulate(calls, call.topology, flags.speeds, slots));
  (flags.json ? print_json : print_text)(call, simulation, answer_of(call, simulation));
  return {};
}

// Range alone lets it through: it is neither below nor above anything.
std::string not_nan(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is no number" : "";
}

void add_speeds(CLI::App& sim, SimFlags& flags) {
  const auto number = [&sim](const char* name, double& value, const char* help) {
    return sim.add_option(name, value, help)
        ->check(CLI::Range(0.0, 1e12))
        ->check(not_nan)
        ->capture_default_str();
  };
  Speeds& speeds = flags.speeds;
  number("--inside", speeds.inside_rate, "GB/s of each pair of ranks of a domain; 0: no limit");
  sim.add_option("--between", flags.between,
                 "what leaves a domain, all its ranks together: 2gbit, "
                 "25GB; 0: no limit")
      ->capture_default_str();
  sim.add_option("--nic", flags.nic, "what one rank sends out of its domain; default: no limit");
  number("--latency-us", speeds.between_latency_us, "of a message between domains");
  number("--inside-latency-us", speeds.inside_latency_us, "of a message inside a domain");
  number("--memory-gbs", speeds.memory_rate, "of copying and adding in one rank; 0: no limit");
  number("--codec-gbs", speeds.codec_rate, "of encoding or decoding in one rank; 0: no limit");
  sim.add_option("--ratio", speeds.coded_share, "coded bytes per plain byte; 1: no compression")
      ->check(CLI::Range(0.001, 2.0))
      ->check(not_nan)
      ->capture_default_str();
  number("--step-us", speeds.step_us, "fixed cost of a piece");
  sim.add_option("--slots", flags.slots, "slots of a link; default: as the settings say")
      ->check(CLI::Range(1, 64));
}

}  // namespace

void add_sim(CLI::App& app, Task& task) {
  CLI::App* sim = app.add_subcommand("sim", "says how long a collective takes and where it waits");
  auto flags = std::make_shared<SimFlags>();
  flags->call.add_to(*sim);
  sim->add_option("--rank", flags->call.rank, "whose side a send or receive is; default: 0")
      ->check(CLI::NonNegativeNumber);
  add_speeds(*sim, *flags);
  sim->add_flag("--json", flags->json, "JSON on standard output");
  sim->footer(
      "  strait sim all_reduce --topo \"2 racks x 4 ranks\" --count 8M --type bfloat16\n"
      "  strait sim all_reduce --topo \"2 racks x 4 ranks\" --count 8M --type bfloat16 "
      "--codec-gbs 5 --ratio 0.7");
  sim->callback([=, &task] { task = [=] { return show(*flags); }; });
}

}  // namespace strait::tool
