#include "perf/engine/crew.hpp"

#include <strait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <thread>

#include "perf/launch/same_host.hpp"

namespace strait::perf {
namespace {

// What every rank tells of itself; crosses processes as bytes.
struct RankFacts {
  int pid;
  int domain;
  int device;
  char host[64];
  char bus[32];
  char device_name[64];
};

template <size_t size>
void put(const std::string& text, char (&field)[size]) {
  std::strncpy(field, text.c_str(), size - 1);
}

}  // namespace

Crew::Crew(const Options& options, const Split& split, Launcher& launcher)
    : options_(options), split_(split), launcher_(launcher) {
  const int first = split_.index(launcher_.rank()) * ranks_per_process();
  for (int i = 0; i < ranks_per_process(); ++i) seats_.push_back(std::make_unique<Seat>(first + i));
}

std::vector<Seat*> Crew::seats_of(int thread) const {
  const auto count = static_cast<size_t>(options_.devices);
  std::vector<Seat*> seats;
  for (size_t i = 0; i < count; ++i)
    seats.push_back(seats_[static_cast<size_t>(thread) * count + i].get());
  return seats;
}

// The id that the first process of this group has made.
Result<ncclUniqueId> Crew::meet() {
  const int leader = split_.leader(launcher_.rank());
  ncclUniqueId id{};
  if (launcher_.rank() == leader) STRAIT_TRY(told("ncclGetUniqueId", ncclGetUniqueId(&id)));
  if (split_.groups().size() == 1) {
    STRAIT_TRY(launcher_.broadcast(std::as_writable_bytes(std::span(&id, 1))));
    return id;
  }
  STRAIT_ASSIGN(const std::vector<std::byte> all,
                launcher_.all_gather(std::as_bytes(std::span(&id, 1))));
  std::memcpy(&id, all.data() + static_cast<size_t>(leader) * sizeof(id), sizeof(id));
  return id;
}

Status Crew::join_ranks(const ncclUniqueId& id, size_t first, size_t count) {
  STRAIT_TRY(told("ncclGroupStart", ncclGroupStart()));
  for (size_t i = first; i < first + count; ++i)
    STRAIT_TRY(seats_[i]->join(id, rank_count(), options_.cta_policy));
  return told("making the communicator", ncclGroupEnd());
}

Status Crew::join_in_threads(const ncclUniqueId& id) {
  const auto per_thread = static_cast<size_t>(options_.devices);
  std::vector<Status> verdicts(static_cast<size_t>(options_.threads));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < verdicts.size(); ++t)
    threads.emplace_back([&, t] { verdicts[t] = join_ranks(id, t * per_thread, per_thread); });
  for (std::thread& thread : threads) thread.join();
  for (const Status& verdict : verdicts) STRAIT_TRY(verdict);
  return {};
}

// One after the other on the host, or from NCCL_TESTS_DEVICE on.
Status Crew::sit_down() {
  STRAIT_ASSIGN(const int index, index_on_host(launcher_));
  const int first =
      options_.first_device >= 0 ? options_.first_device : index * ranks_per_process();
  STRAIT_ASSIGN(const int gpus, gpus_to_use());
  for (size_t i = 0; i < seats_.size(); ++i)
    STRAIT_TRY(seats_[i]->sit(first + static_cast<int>(i), gpus));
  return seats_.front()->device().is_gpu() ? check_gpus() : check_hosts();
}

Status Crew::check_hosts() const {
  if (options_.graph_launches == 0) return {};
  return error(Code::kInvalidUsage,
               "-G {}: there are no CUDA graphs on host devices, where these ranks sit; leave it "
               "out",
               options_.graph_launches);
}

// Ranks of one process that share a GPU share its NULL stream too, and there the first one's kernel
// would wait for that of the second behind it.
Status Crew::check_gpus() const {
  if (!options_.null_stream) return {};
  std::map<int, int> rank_on;
  for (const auto& seat : seats_) {
    const int device = seat->device().number();
    const auto [first, is_new] = rank_on.emplace(device, seat->rank());
    if (is_new) continue;
    return error(Code::kInvalidUsage,
                 "-y 1: ranks {} and {} share the NULL stream of GPU {} and would wait for each "
                 "other in it; leave -y out, or give each rank of a process a GPU",
                 first->second, seat->rank(), device);
  }
  return {};
}

Status Crew::join() {
  STRAIT_ASSIGN(const ncclUniqueId id, meet());
  STRAIT_TRY(options_.parallel_init ? join_in_threads(id) : join_ranks(id, 0, seats_.size()));
  STRAIT_TRY(make_buffers());
  return register_buffers();
}

Status Crew::make_buffers() {
  constexpr size_t kRoom = 16;  // for -u: one element of any type
  for (const auto& seat : seats_) {
    STRAIT_TRY(seat->make_buffers(static_cast<size_t>(options_.max_bytes) + kRoom));
    if (!options_.null_stream) STRAIT_TRY(seat->device().make_stream());
  }
  return {};
}

Status Crew::register_buffers() {
  if (options_.local_register == 0) return {};
  // Windows are opened by all ranks together.
  STRAIT_TRY(told("ncclGroupStart", ncclGroupStart()));
  for (const auto& seat : seats_)
    STRAIT_TRY(options_.local_register == 1 ? seat->register_buffers() : seat->open_windows());
  return told("registering the buffers", ncclGroupEnd());
}

Result<std::vector<RankPlace>> Crew::gather_places() {
  std::vector<RankFacts> mine;
  for (size_t i = 0; i < seats_.size(); ++i) {
    straitCommStats_t stats{};
    stats.size = sizeof(stats);
    STRAIT_TRY(told("straitCommGetStats", straitCommGetStats(seats_[i]->comm(), &stats)));
    const RankDevice& device = seats_[i]->device();
    RankFacts facts{::getpid(), stats.domain, device.number(), {}, {}, {}};
    put(device.bus(), facts.bus);
    put(device.name(), facts.device_name);
    ::gethostname(facts.host, sizeof(facts.host) - 1);
    mine.push_back(facts);
  }
  STRAIT_ASSIGN(const std::vector<std::byte> bytes,
                launcher_.all_gather(std::as_bytes(std::span(mine))));
  std::vector<RankPlace> places;
  for (size_t rank = 0; rank < bytes.size() / sizeof(RankFacts); ++rank) {
    RankFacts facts;
    std::memcpy(&facts, bytes.data() + rank * sizeof(RankFacts), sizeof(RankFacts));
    const int index = static_cast<int>(rank), process = index / ranks_per_process();
    places.push_back({index, split_.color(process), process, facts.pid, facts.domain, facts.device,
                      facts.host, facts.bus, facts.device_name});
  }
  return places;
}

}  // namespace strait::perf
