#include <fmt/format.h>

#include <memory>

#include "plan/text.hpp"
#include "tools/strait/call.hpp"
#include "tools/strait/command.hpp"

namespace strait::tool {
namespace {

// What is not the plan itself is a comment, so that the whole can be parsed back.
Status show(const CallFlags& flags, bool verify) {
  STRAIT_ASSIGN(const PlannedCall call, make_call(flags));
  fmt::print("# {}\n", call.headline());
  if (verify) {
    const Status proof = prove(call);
    if (!proof.ok()) return error(Code::kInternalError, "not proved: {}", proof.message());
    fmt::print("# proved for all {} ranks\n", call.topology.rank_count());
  }
  const bool one = flags.rank.has_value() || call.one_sided();
  const int first = one ? call.rank : 0;
  const int end = one ? call.rank + 1 : call.topology.rank_count();
  for (int rank = first; rank < end; ++rank) {
    STRAIT_ASSIGN(const Plan plan, call.plan(rank));
    fmt::print("{}{}", rank == first ? "" : "\n", format(plan));
  }
  return {};
}

}  // namespace

void add_plan(CLI::App& app, Task& task) {
  CLI::App* plan =
      app.add_subcommand("plan", "prints what each rank does for a collective, and why");
  auto flags = std::make_shared<CallFlags>();
  auto verify = std::make_shared<bool>(false);
  flags->add_to(*plan);
  plan->add_option("--rank", flags->rank, "only this rank's plan; default: all")
      ->check(CLI::NonNegativeNumber);
  plan->add_flag("--verify", *verify, "prove it right for all ranks first");
  plan->footer(
      "STRAIT_ settings of the environment count as they do in the library.\n"
      "  strait plan all_reduce --topo \"2 racks x 4 ranks\" --count 1M --type bfloat16 --rank 0\n"
      "  strait plan broadcast --ranks 7 --count 4096 --algo tree --root 2 --verify");
  plan->callback([=, &task] { task = [=] { return show(*flags, *verify); }; });
}

}  // namespace strait::tool
