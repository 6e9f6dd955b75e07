#include <fmt/format.h>

#include <memory>

#include "tools/strait/command.hpp"
#include "tools/strait/topology_text.hpp"

namespace strait::tool {
namespace {

Status show(const std::string& text) {
  STRAIT_ASSIGN(const Topology topology, read_topology(text));
  const int ranks = topology.rank_count();
  const int domains = topology.domain_count();
  fmt::print("short  {}\n", short_form(topology).value_or("none: a domain's ranks have gaps"));
  fmt::print("full   {}\n", format(topology));
  fmt::print("ranks  {} in {} domain{}\n", ranks, domains, domains == 1 ? "" : "s");
  return {};
}

}  // namespace

void add_topo(CLI::App& app, Task& task) {
  CLI::App* topo = app.add_subcommand("topo", "reads a topology and prints it in both forms");
  auto text = std::make_shared<std::string>();
  topo->add_option("TOPOLOGY", *text, "\"2 racks x 4 ranks\", \"7+8\" or \"2 domains: 0-3 | 4-7\"")
      ->required();
  topo->footer("  strait topo \"2 racks x 4 ranks\"");
  topo->callback([&task, text] { task = [text] { return show(*text); }; });
}

}  // namespace strait::tool
