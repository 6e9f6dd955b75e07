// Which blocks of a kernel carry which sends and receives of a batch. Those of one direction and
// peer share a port, so they run in order; beyond that as many run beside each other as there are
// blocks to be had. Pure; any thread; once per batch.
//
// No block waits for ever, whatever the number of blocks: each runs its peers by growing distance
// (from the sender to the receiver, round the ranks), and sends and receives have blocks of their
// own. Of all messages of a group that are not done, those of the least distance come first in
// their blocks on both ends.
#pragma once

#include <vector>

#include "exec/cuda/device_call.hpp"

namespace strait {

struct MessageLane {
  DeviceLane lane;
  const DevicePort* port = nullptr;
  bool sends = false;
  bool leaves_domain = false;  // or comes from another
  int distance = 0;            // 1 .. ranks - 1
};

struct MessageBlocks {
  std::vector<DeviceLane> lanes;  // as a kernel reads them: block i begins with lane i
  uint32_t blocks = 0;
};

// Each direction has one block at least.
struct BlockBounds {
  int lanes_max = 0;   // of the program; 0: 64 inside the domain and 8 beyond it
  int blocks_max = 0;  // that run beside each other, all of them; 0: no bound
};
MessageBlocks arrange(const std::vector<MessageLane>& messages, const BlockBounds& bounds);

}  // namespace strait
