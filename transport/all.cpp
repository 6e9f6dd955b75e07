// The table of transports, fastest first, and how the ones of a communicator are opened.
#include <algorithm>
#include <array>

#include "transport/fault/fault.hpp"
#include "transport/inproc/inproc.hpp"
#include "transport/shm/shm.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/trace/trace.hpp"
#include "transport/transport.hpp"
#include "transport/ucx/ucx.hpp"
#include "transport/verbs/verbs.hpp"

namespace strait {
namespace {

struct Row {
  std::string_view name;
  std::string_view net;  // NCCL's name of it, if it is a network
  Result<std::unique_ptr<Transport>> (*open)(const TransportContext& context);
  bool when_named = false;  // STRAIT_NET is enough to have it
};

constexpr std::array kRows = {
    Row{"inproc", "", open_inproc}, Row{"shm", "", open_shm},
    Row{"verbs", "IB", open_verbs}, Row{"ucx", "UCX", open_ucx, true},
    Row{"tcp", "Socket", open_tcp},
};

std::string known_names() {
  std::string names;
  for (const Row& row : kRows) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

// The words of "inproc,shm,tcp"; each must be known and there must be one. STRAIT_NET takes out the
// network that it does not name.
Result<std::vector<std::string>> wanted_names(const std::string& text) {
  std::vector<std::string> wanted;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    begin = end + 1;
    if (std::none_of(kRows.begin(), kRows.end(), [&](const Row& row) { return row.name == name; }))
      return error(Code::kInvalidArgument,
                   "STRAIT_TRANSPORTS=\"{}\": there is no transport \"{}\"; the known ones are {}",
                   text, name, known_names());
    wanted.push_back(name);
  }
  return wanted;
}

}  // namespace

Result<std::vector<std::unique_ptr<Transport>>> open_transports(const TransportContext& context) {
  STRAIT_ASSIGN(const auto wanted, wanted_names(context.config.transports));
  const std::string& fault = context.config.fault;
  STRAIT_ASSIGN(const FaultSpec faults, parse_fault(fault.empty() ? "seed=1" : fault));
  const std::string& file = context.config.trace_file;
  const auto sink = file.empty() ? nullptr : std::make_shared<TraceSink>(file, context.rank);
  std::vector<std::unique_ptr<Transport>> transports;
  for (const Row& row : kRows) {
    const bool listed = std::find(wanted.begin(), wanted.end(), row.name) != wanted.end();
    const bool named = row.net != "" && context.config.net == row.net;
    if (!listed && !(named && row.when_named)) continue;
    if (row.net != "" && context.config.net != "any" && !named) continue;
    STRAIT_ASSIGN(auto transport, row.open(context));
    if (!fault.empty()) transport = inject_faults(std::move(transport), faults);
    if (sink != nullptr) transport = trace(std::move(transport), sink);
    transports.push_back(std::move(transport));
  }
  return transports;
}

}  // namespace strait
