// Crew: the ranks of this process, as they meet the others and become communicators, one for each
// group of processes. Owned by the session; join() is called once, by the main thread, afterwards
// each thread uses its own seats.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "perf/engine/report.hpp"
#include "perf/engine/seat.hpp"
#include "perf/launch/launcher.hpp"
#include "perf/launch/split.hpp"

namespace strait::perf {

class Crew {
 public:
  Crew(const Options& options, const Split& split, Launcher& launcher);

  // Devices; refuses what they cannot do, before any rank waits for another.
  Status sit_down();
  // Communicators, buffers, streams, as the options want them.
  Status join();
  bool on_gpus() const { return seats_.front()->device().is_gpu(); }
  // Ends them all; every process comes here.
  void leave() { seats_.clear(); }

  std::vector<Seat*> seats_of(int thread) const;
  int color() const { return split_.color(launcher_.rank()); }
  // Ranks of this process's group, and of all.
  int rank_count() const { return split_.size(launcher_.rank()) * ranks_per_process(); }
  int world_size() const { return launcher_.size() * ranks_per_process(); }
  // Everyone's place, by rank of the program.
  Result<std::vector<RankPlace>> gather_places();

 private:
  int ranks_per_process() const { return options_.threads * options_.devices; }
  Result<ncclUniqueId> meet();
  Status join_ranks(const ncclUniqueId& id, size_t first, size_t count);
  Status join_in_threads(const ncclUniqueId& id);
  Status check_hosts() const;
  Status check_gpus() const;
  Status make_buffers();
  Status register_buffers();

  const Options& options_;
  const Split& split_;
  Launcher& launcher_;
  std::vector<std::unique_ptr<Seat>> seats_;
};

}  // namespace strait::perf
