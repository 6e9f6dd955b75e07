// Connections: the links of one rank, opened when a plan first needs them and kept. Used by the
// thread that runs the communicator's work, except abort(), which any thread may call. A plan is
// bound once: each step then holds its ports.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "exec/ports.hpp"
#include "transport/transport.hpp"

namespace strait {

// How one peer is reached.
struct PeerRoute {
  Transport* transport = nullptr;
  std::string address;  // of the peer on that transport
  int rank = 0;         // of the peer, as the transport counts
};

struct CodedBytes {
  uint64_t value_bytes = 0;  // before coding
  uint64_t wire_bytes = 0;
};

// From which size on messages are lent, by the setting ZERO_COPY.
size_t lends_from(std::string_view zero_copy);

class Connections {
 public:
  struct Shape {
    uint32_t slots;
    size_t slot_bytes;   // largest piece of plain bytes; coded chunks get their overhead on top
    int first_lane = 0;  // of this communicator among those that share the transports
    size_t lends_from = SIZE_MAX;  // bytes of a message
    bool on_gpu = false;           // kernels fill and empty the slots
  };

  Connections(int rank, std::vector<PeerRoute> routes, Shape shape);

  // A plan whose lane numbers count from first_lane, and the call that needs it.
  struct Demand {
    const Plan* plan;
    int first_lane;
    uint32_t tag;  // of the call; collectives must have the same on both ends
    std::string name;
  };
  // Opens what the plans need and is not open yet: first all senders, then all receivers, so that
  // ranks that open different links at the same time cannot wait for each other in a circle. The
  // first message of a link says for which call it was opened, so that ranks that make different
  // calls find out here, where each might wait for links that the others never open.
  Status open(const std::vector<Demand>& demands, Deadline deadline);
  // The plan with the ports of its steps; its links must be open.
  std::unique_ptr<BoundPlan> bind(Plan plan, int first_lane, const Loans& loans);

  // Fails every link, open and to come, with this reason; peers see it too.
  void abort(const Status& why);
  // The same, and waits until no peer reads any more what was lent to it.
  void end_loans(const Status& why);
  bool flushed() const;
  // Ends every link; they open again when plans need them. Bound plans are of no use any more.
  void close();
  // Of the slots of all links.
  uint64_t memory_bytes() const;
  // What has been sent to the peer in coded chunks. Any thread.
  CodedBytes coded_to(int peer) const;

 private:
  using Key = std::pair<int, int>;  // lane, peer

  Status open_sender(const Demand& demand, const Key& key, Deadline deadline);
  Status open_receiver(const Demand& demand, const Key& key, Deadline deadline);
  Status check_call(const Demand& demand, int lane, int peer, RecvLink& link,
                    Deadline deadline) const;
  Status failure_of_used() const;
  Status still_there(int peer) const;
  Status aborted() const;
  LinkSpec spec(const Plan& plan, int source, int destination, int lane) const;
  int own_rank() const { return routes_[rank_].rank; }

  const int rank_;
  const std::vector<PeerRoute> routes_;
  const Shape shape_;
  mutable std::mutex mutex_;  // guards the maps against abort(); never held while a call blocks
  Status aborted_;
  struct Sender {
    std::unique_ptr<SendLink> link;
    SendPort port;
  };
  std::map<Key, std::unique_ptr<Sender>> senders_;
  std::map<Key, std::unique_ptr<RecvLink>> receivers_;
  std::set<Key> used_;  // senders of what is being opened
};

}  // namespace strait
