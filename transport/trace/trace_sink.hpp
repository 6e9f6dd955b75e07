// TraceSink: where the links of one rank write down what they do, and which becomes a file in the
// Trace Event Format (chrome://tracing, Perfetto) when the last link and transport that use it are
// gone. Each link has a record ring of its own, made before the first message; writing one down
// costs a clock reading and a store, and the oldest are overwritten.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace strait {

enum class TraceKind : uint8_t { kCommit, kLend, kReceive, kRelease };

class TraceRing {
 public:
  static constexpr size_t kRecords = 8192;

  explicit TraceRing(std::string link) : link_(std::move(link)), records_(kRecords) {}

  // By one thread at a time: an end's owner, or whoever commits for it.
  void write(TraceKind kind, size_t bytes, uint32_t tag) {
    records_[written_++ % kRecords] = {now_ns(), bytes, tag, kind};
  }
  // The records, oldest first, as one JSON object a line.
  std::string format(int rank, size_t link_number) const;

 private:
  struct Record {
    int64_t at_ns;
    uint64_t bytes;
    uint32_t tag;
    TraceKind kind;
  };

  std::string link_;
  std::vector<Record> records_;
  uint64_t written_ = 0;
};

class TraceSink {
 public:
  // %r in the file's name becomes the rank; without it the rank is appended, so that no rank
  // overwrites another's file.
  TraceSink(const std::string& file, int rank);
  // Writes the file; a failure is logged.
  ~TraceSink();

  const std::string& file() const { return file_; }
  std::shared_ptr<TraceRing> open_ring(const std::string& link);

 private:
  std::string file_;
  const int rank_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<TraceRing>> rings_;
};

}  // namespace strait
