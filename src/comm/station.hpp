// Station: what makes a rank reachable: its doorbell and its transports. A communicator has one of
// its own, or shares that of the one it was split off (splitShare). Then the links of both lie on
// the same transports, in bands of lanes of their own, and to abort one is to abort all. Made by
// join(), kept by its communicators; the list of these is guarded, the rest is as thread-safe as
// transports are.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/doorbell.hpp"
#include "base/shared_memory.hpp"
#include "transport/transport.hpp"

namespace strait {

class Communicator;

// Lanes of one communicator at a station; the first band belongs to the one that it was made for.
inline constexpr int kLanesPerBand = 1 << 17;
inline constexpr int kBandsMax = 1 << 13;

struct Station {
  int rank = 0;  // as the transports know this rank
  SharedMemory doorbell_memory;
  std::unique_ptr<Doorbell> doorbell;
  std::vector<std::unique_ptr<Transport>> transports;  // end before the doorbell that they ring

  std::mutex mutex;  // guards what follows
  int next_band = 1;
  std::vector<std::weak_ptr<Communicator>> users;

  // A number that no earlier call got.
  int take_band();
  // The band that the ranks agreed on is taken here too.
  void skip_to(int band);
};

}  // namespace strait
