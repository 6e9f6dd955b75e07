#include "tools/strait/codec_trial.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>
#include <thread>
#include <vector>

#include "base/clock.hpp"

namespace strait::tool {
namespace {

constexpr int kPasses = 5;
// A pass over few values is repeated until it has moved this many, or the clock would be measured.
constexpr size_t kPassBytesMin = 1 << 20;

struct Chunk {
  size_t at;  // of its values
  size_t bytes;
  size_t room_at;  // of its coded form
  size_t room;
  size_t coded = 0;
};

struct PassTimes {
  double encode_s = 0;
  double decode_s = 0;
};

class Bench {
 public:
  Bench(DataType type, std::span<const std::byte> values, const TrialSetup& setup)
      : type_(type), values_(values), options_(setup.options) {
    size_t room = 0;
    for (size_t at = 0; at < values.size(); at += setup.chunk_bytes) {
      const size_t bytes = std::min(setup.chunk_bytes, values.size() - at);
      chunks_.push_back({at, bytes, room, codec::bound(type, bytes / size_of(type))});
      room += chunks_.back().room;
    }
    coded_.resize(room);
    back_.resize(values.size());
    threads_ = std::clamp<size_t>(static_cast<size_t>(setup.threads), 1, chunks_.size());
    repeats_ = std::max<size_t>(1, kPassBytesMin / values.size());
  }

  Trial run() {
    std::vector<std::vector<PassTimes>> times(threads_);
    std::barrier<> together(static_cast<ptrdiff_t>(threads_));
    std::vector<std::thread> others;
    for (size_t thread = 1; thread < threads_; ++thread)
      others.emplace_back([&, thread] { times[thread] = passes(thread, together); });
    times[0] = passes(0, together);
    for (std::thread& other : others) other.join();

    Trial trial{.bytes = values_.size()};
    for (const Chunk& chunk : chunks_) trial.wire_bytes += chunk.coded;
    trial.encode_s = median(times, &PassTimes::encode_s);
    trial.decode_s = median(times, &PassTimes::decode_s);
    trial.exact = decodes_ && std::memcmp(back_.data(), values_.data(), back_.size()) == 0;
    return trial;
  }

 private:
  std::span<Chunk> share(size_t thread) {
    const size_t begin = chunks_.size() * thread / threads_;
    return std::span(chunks_).subspan(begin, chunks_.size() * (thread + 1) / threads_ - begin);
  }

  void encode(std::span<Chunk> chunks) {
    for (Chunk& chunk : chunks)
      chunk.coded = codec::encode(type_, values_.data() + chunk.at, chunk.bytes / size_of(type_),
                                  std::span(coded_).subspan(chunk.room_at, chunk.room), options_);
  }

  void decode(std::span<Chunk> chunks) {
    for (const Chunk& chunk : chunks) {
      const auto coded = std::span(coded_).subspan(chunk.room_at, chunk.coded);
      const Status status =
          codec::decode(coded, type_, chunk.bytes / size_of(type_), back_.data() + chunk.at);
      if (!status.ok()) decodes_ = false;
    }
  }

  double repeated_s(auto&& work) const {
    const int64_t start = now_ns();
    for (size_t i = 0; i < repeats_; ++i) work();
    return static_cast<double>(now_ns() - start) * 1e-9 / static_cast<double>(repeats_);
  }

  // The first pass warms up and does not count. All threads begin each half of a pass at once.
  std::vector<PassTimes> passes(size_t thread, std::barrier<>& together) {
    const std::span<Chunk> mine = share(thread);
    std::vector<PassTimes> times;
    for (int pass = 0; pass <= kPasses; ++pass) {
      PassTimes now;
      together.arrive_and_wait();
      now.encode_s = repeated_s([&] { encode(mine); });
      together.arrive_and_wait();
      now.decode_s = repeated_s([&] { decode(mine); });
      if (pass > 0) times.push_back(now);
    }
    return times;
  }

  // A pass takes as long as its slowest thread.
  static double median(const std::vector<std::vector<PassTimes>>& times, double PassTimes::*half) {
    std::vector<double> slowest(kPasses, 0);
    for (const std::vector<PassTimes>& thread : times)
      for (size_t pass = 0; pass < slowest.size(); ++pass)
        slowest[pass] = std::max(slowest[pass], thread[pass].*half);
    std::nth_element(slowest.begin(), slowest.begin() + kPasses / 2, slowest.end());
    return slowest[kPasses / 2];
  }

  DataType type_;
  std::span<const std::byte> values_;
  codec::Options options_;
  std::vector<Chunk> chunks_;
  std::vector<std::byte> coded_;
  std::vector<std::byte> back_;
  size_t threads_ = 1;
  size_t repeats_ = 1;
  std::atomic<bool> decodes_{true};  // any thread clears it; run() reads it after joining them
};

}  // namespace

Trial try_codec(DataType type, std::span<const std::byte> values, const TrialSetup& setup) {
  return values.empty() ? Trial{} : Bench(type, values, setup).run();
}

}  // namespace strait::tool
