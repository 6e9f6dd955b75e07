// RmaCall: one one-sided call on one communicator, checked and ready to be carried out: bytes to
// put and the signal behind them, or signals to wait for. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/signal_name.hpp"

namespace strait {

struct RmaCall {
  // Empty for a call that only waits.
  const std::byte* source = nullptr;
  uint64_t bytes = 0;   // 0: nothing is put
  uint32_t window = 0;  // of the peer, where bytes go
  uint64_t offset = 0;  // from the window's start
  SignalName to;        // rank that is written to, and its signal
  std::vector<SignalWait> waits;

  bool is_wait() const { return !waits.empty(); }
};

}  // namespace strait
