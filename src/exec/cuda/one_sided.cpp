#include "exec/cuda/one_sided.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>

#include "base/cuda/launch.hpp"

namespace strait {
namespace {

constexpr unsigned kSignalThreads = 32;
constexpr const char* kBoardName = "signals";

size_t count_bytes(const SignalShape& shape) {
  return shape.count() * sizeof(uint64_t);
}

}  // namespace

Result<std::shared_ptr<GpuOneSided>> GpuOneSided::open(GpuEngine& engine, Terms terms,
                                                       Deadline deadline,
                                                       const std::function<Status()>& stopped) {
  STRAIT_ASSIGN(auto context, cuda::PrimaryContext::retain(engine.driver(), engine.device()));
  auto made = std::make_shared<GpuOneSided>(engine, std::move(terms), std::move(context));
  STRAIT_TRY(made->prepare(deadline, stopped));
  engine.attach(made);
  return made;
}

Status GpuOneSided::prepare(Deadline deadline, const std::function<Status()>& stopped) {
  const cuda::ContextHandle context = context_.get();
  STRAIT_ASSIGN(module_, load_kernels(driver_, context, "one_sided"));
  STRAIT_ASSIGN(signal_, module_.kernel("strait_signal"));
  STRAIT_ASSIGN(put_, module_.kernel("strait_put"));
  STRAIT_ASSIGN(wait_, module_.kernel("strait_wait"));
  STRAIT_ASSIGN(own_stream_, cuda::Stream::create(driver_, context));
  const size_t counts = count_bytes(terms_.shape);
  STRAIT_ASSIGN(own_,
                cuda::DeviceMemory::allocate(driver_, context, sizeof(OneSidedState) + 2 * counts,
                                             "counts of signals"));
  STRAIT_ASSIGN(by_link_,
                cuda::PinnedMemory::allocate(driver_, context, counts, "counts of signals"));
  std::memset(by_link_.data(), 0, counts);
  STRAIT_ASSIGN(report_memory_, cuda::PinnedMemory::allocate(
                                    driver_, context, sizeof(OneSidedReport), "reports of waits"));
  new (report_memory_.data()) OneSidedReport{};
  seen_.resize(kWaitsAtOnce);
  STRAIT_ASSIGN(ring_, MarkedRing::create(driver_, context, terms_.slots,
                                          sizeof(RingHeader) + terms_.piece_bytes));
  {
    STRAIT_ASSIGN(const auto scope, cuda::ContextScope::enter(driver_, context));
    std::vector<std::byte> image(own_.bytes());
    auto* state = new (image.data()) OneSidedState{};
    state->ring = ring_.device_port(0);
    STRAIT_TRY(cuda::copy(driver_, own_.pointer(), cuda::device_pointer(image.data()), image.size(),
                          own_stream_.get()));
    STRAIT_TRY(cuda::wait_idle(driver_, own_stream_.get(), deadline));
  }
  boards_.resize(static_cast<size_t>(terms_.shape.rank_count));
  const PeerRings* peers = engine_.peers();
  bool any = false;
  for (int peer = 0; peer < terms_.shape.rank_count; ++peer)
    any = any || (peers != nullptr && peers->reaches(peer));
  if (!any) return Status();
  STRAIT_ASSIGN(board_, peers->publish(kBoardName, counts));
  for (int peer = 0; peer < terms_.shape.rank_count; ++peer) {
    if (!peers->reaches(peer)) continue;
    STRAIT_ASSIGN(
        boards_[static_cast<size_t>(peer)],
        peers->fetch(peer, kBoardName, PeerRings::published_bytes(counts), deadline, stopped));
  }
  return Status();
}

bool GpuOneSided::reaches(int peer) const {
  const PeerRings* peers = engine_.peers();
  return peer == terms_.rank || (peers != nullptr && peers->reaches(peer));
}

DeviceOneSided GpuOneSided::device() const {
  return {.engine = engine_.report(),
          .report = reinterpret_cast<OneSidedReport*>(report_memory_.pointer()),
          .state = static_cast<OneSidedState*>(own_.data())};
}

uint64_t* GpuOneSided::sent_count(size_t place) const {
  auto* counts = reinterpret_cast<uint64_t*>(static_cast<OneSidedState*>(own_.data()) + 1);
  return counts + place;
}

uint64_t* GpuOneSided::taken_count(size_t place) const {
  return sent_count(terms_.shape.count() + place);
}

// One's own signals are counted where they are sent.
const uint64_t* GpuOneSided::arrived_count(const SignalName& name) const {
  const size_t place = terms_.shape.place(name);
  if (name.peer == terms_.rank) return sent_count(place);
  if (reaches(name.peer)) return reinterpret_cast<const uint64_t*>(board_.data()) + place;
  return reinterpret_cast<const uint64_t*>(by_link_.pointer()) + place;
}

// ---- Into streams -------------------------------------------------------------------------------

template <class Call>
Status GpuOneSided::launch(const cuda::Kernel& kernel, unsigned threads, const Call& call,
                           bool by_ring, std::shared_ptr<const PeerMemory> mapping,
                           cuda::StreamHandle stream) {
  STRAIT_ASSIGN(const auto scope, cuda::ContextScope::enter(driver_, context_.get()));
  STRAIT_ASSIGN(const cuda::Capture capture, cuda::capture_of(driver_, stream));
  if (capture.active) {
    using Kept = std::pair<std::shared_ptr<GpuOneSided>, std::shared_ptr<const PeerMemory>>;
    STRAIT_TRY(engine_.capture(
        capture, [this, by_ring] { begun(by_ring); },
        std::make_shared<Kept>(shared_from_this(), std::move(mapping)), stream));
  }
  STRAIT_TRY(cuda::launch_with(kernel, {.blocks = 1, .threads = threads}, stream, call));
  if (!capture.active) begun(by_ring);
  return Status();
}

Status GpuOneSided::put(const Put& put, const SignalName& to, cuda::StreamHandle stream) {
  if (!reaches(to.peer)) return post(put, to, stream);
  if (put.bytes > kSmallPutBytesMax) {
    STRAIT_ASSIGN(const auto scope, cuda::ContextScope::enter(driver_, context_.get()));
    STRAIT_TRY(cuda::copy(driver_, cuda::device_pointer(put.target),
                          cuda::device_pointer(put.source), put.bytes, stream));
  }
  return signal(put, to, stream);
}

Status GpuOneSided::signal(const Put& put, const SignalName& to, cuda::StreamHandle stream) {
  const SignalName mine{.peer = terms_.rank, .context = to.context, .index = to.index};
  const auto& board = boards_[static_cast<size_t>(to.peer)];
  const bool copies = put.bytes > 0 && put.bytes <= kSmallPutBytesMax;
  SignalCall call{.at = device(),
                  .source = static_cast<const unsigned char*>(put.source),
                  .target = static_cast<unsigned char*>(put.target),
                  .bytes = copies ? put.bytes : 0,
                  .sent = sent_count(terms_.shape.place(to)),
                  .arrived = nullptr};
  call.arrived = to.peer == terms_.rank
                     ? call.sent
                     : reinterpret_cast<uint64_t*>(board.data()) + terms_.shape.place(mine);
  return launch(signal_, copies ? kPutThreads : kSignalThreads, call, false, put.mapping, stream);
}

Status GpuOneSided::post(const Put& put, const SignalName& to, cuda::StreamHandle stream) {
  const PutCall call{.at = device(),
                     .source = static_cast<const unsigned char*>(put.source),
                     .bytes = put.bytes,
                     .piece_bytes = terms_.piece_bytes,
                     .header = {.put = {.window = put.window,
                                        .bytes = 0,
                                        .offset = put.offset,
                                        .context = to.context,
                                        .signal = to.index},
                                .peer = to.peer}};
  return launch(put_, put.bytes > 0 ? kPutThreads : kSignalThreads, call, true, nullptr, stream);
}

// A signal that is named twice must have come as often as both say.
Status GpuOneSided::wait(const std::vector<SignalWait>& waits, cuda::StreamHandle stream) {
  std::map<size_t, WaitEntry> entries;
  for (const SignalWait& wait : waits) {
    const size_t place = terms_.shape.place(wait.signal);
    WaitEntry& entry = entries[place];
    entry = {.arrived = arrived_count(wait.signal),
             .taken = taken_count(place),
             .need = entry.need + wait.count,
             .place = static_cast<uint32_t>(place)};
  }
  WaitCall call{};
  call.at = device();
  for (auto at = entries.begin(); at != entries.end();) {
    call.entries[call.count++] = at->second;
    if (++at != entries.end() && call.count < kWaitEntries) continue;
    STRAIT_TRY(launch(wait_, kSignalThreads, call, false, nullptr, stream));
    call.count = 0;
  }
  return Status();
}

void GpuOneSided::retire(std::shared_ptr<const PeerMemory> mapping) {
  std::vector<std::shared_ptr<const PeerMemory>> gone;  // after the lock: unmapping takes its time
  std::lock_guard lock(mutex_);
  retired_.push_back(std::move(mapping));
  if (!busy()) gone.swap(retired_);
}

void GpuOneSided::begun(bool by_ring) {
  std::lock_guard lock(mutex_);
  if (by_ring) puts_launched_.fetch_add(1);
  launched_.fetch_add(1);
  if (!closed_) terms_.wake();
}

void GpuOneSided::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
}

}  // namespace strait
