// PeerTrial: finds out, while a communicator of GPUs is made, whose memory kernels of this rank's
// GPU can write into, by what handles, and tells the others: a pair of GPUs is joined when both
// reach each other. All ranks run it at the same place. Lives for one communicator's making; one
// thread; costs a mapping of a small memory per peer of the domain.
#pragma once

#include "comm/bootstrap.hpp"
#include "comm/member.hpp"
#include "exec/cuda/peer_rings.hpp"
#include "topology/topology.hpp"

namespace strait {

// The name of the GPU's NVLink domain (of several hosts, where there is IMEX), if its memory can be
// shared in it. If it cannot: empty, and a line in the log that says why, or an error where `must`.
Result<std::string> usable_fabric(const cuda::Driver& driver, int device, int rank, bool must);

class PeerTrial {
 public:
  struct Terms {
    int rank;
    int device;
    bool allowed;  // this rank's GPU takes part
    const std::vector<Member>& members;
    const Topology& topology;
    Bootstrap& bootstrap;
    FdExchange& exchange;
    std::shared_ptr<net::Listener> door;
    Deadline deadline;
  };

  explicit PeerTrial(Terms terms) : terms_(std::move(terms)) {}
  Result<PeerRings::Terms> run();

 private:
  Status open_shelves();
  void try_all(const PeerPlace& place, const std::vector<std::vector<std::byte>>& opened);
  Status agree();
  void tell_ways() const;

  const Terms terms_;
  PeerRings::Terms found_;
  std::string refusal_;  // the last of this rank
};

}  // namespace strait
