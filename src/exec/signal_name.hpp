// The signals of one-sided calls by name: of which peer, in which context, which of them; and where
// their counts stand. Plain values, for any thread; a place costs a few instructions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strait {

struct SignalName {
  int peer = 0;
  int context = 0;
  int index = 0;
};

struct SignalWait {
  SignalName signal;
  uint64_t count = 1;
};

// Where counts of all signals stand in a row.
struct SignalShape {
  int rank_count = 1;
  int contexts = 1;
  int signals = 1;

  size_t count() const {
    return static_cast<size_t>(rank_count) * static_cast<size_t>(contexts) *
           static_cast<size_t>(signals);
  }
  size_t place(const SignalName& name) const {
    return (static_cast<size_t>(name.peer) * static_cast<size_t>(contexts) +
            static_cast<size_t>(name.context)) *
               static_cast<size_t>(signals) +
           static_cast<size_t>(name.index);
  }
  SignalName name(size_t place) const {
    const auto per_peer = static_cast<size_t>(contexts) * static_cast<size_t>(signals);
    const size_t rest = place % per_peer;
    return {.peer = static_cast<int>(place / per_peer),
            .context = static_cast<int>(rest / static_cast<size_t>(signals)),
            .index = static_cast<int>(rest % static_cast<size_t>(signals))};
  }
  bool has(const SignalName& name) const {
    return name.peer >= 0 && name.peer < rank_count && name.context >= 0 &&
           name.context < contexts && name.index >= 0 && name.index < signals;
  }
};

}  // namespace strait
