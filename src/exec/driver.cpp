#include "exec/driver.hpp"

namespace strait {
namespace {

// Runs a chain as far as it goes; returns the pieces that ran.
Result<uint64_t> advance(Chain& chain) {
  uint64_t ran = 0;
  while (chain.next < chain.executions.size()) {
    HostExecution& execution = *chain.executions[chain.next];
    if (!execution.done()) {
      STRAIT_ASSIGN(const uint64_t pieces, execution.advance());
      ran += pieces;
      if (!execution.done()) break;
    }
    ++chain.next;
  }
  return ran;
}

Status verdict(const std::vector<Chain>& chains, int64_t timeout_ms) {
  std::string where;
  for (const Chain& chain : chains) {
    if (chain.next == chain.executions.size()) continue;
    if (!where.empty()) where += "; ";
    where += chain.executions[chain.next]->where();
  }
  return error(Code::kTimeout,
               "nothing moved for {} ms: {}; look at that rank, or raise STRAIT_TIMEOUT_MS",
               timeout_ms, where);
}

}  // namespace

Status drive(std::vector<Chain>& chains, const Waiting& waiting) {
  while (true) {
    const uint32_t seen = waiting.doorbell->read();
    STRAIT_TRY(waiting.stopped());
    uint64_t ran = 0;
    bool done = true;
    for (Chain& chain : chains) {
      STRAIT_ASSIGN(const uint64_t pieces, advance(chain));
      ran += pieces;
      done = done && chain.next == chain.executions.size();
    }
    if (done) return Status();
    if (ran == 0 && !waiting.doorbell->wait(seen, Deadline::after_ms(waiting.timeout_ms)))
      return verdict(chains, waiting.timeout_ms);
  }
}

}  // namespace strait
