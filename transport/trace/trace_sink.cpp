#include "transport/trace/trace_sink.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/log.hpp"

namespace strait {
namespace {

const char* name_of(TraceKind kind) {
  if (kind == TraceKind::kLend) return "lend";
  return kind == TraceKind::kCommit ? "commit" : "message";
}

// Between receive and release a message is being read: a span. To post one takes a moment.
const char* phase_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::kCommit:
    case TraceKind::kLend:
      return "i";
    case TraceKind::kReceive:
      return "B";
    case TraceKind::kRelease:
      return "E";
  }
  return "i";
}

}  // namespace

std::string TraceRing::format(int rank, size_t link_number) const {
  std::string text =
      fmt::format(R"(,{{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}})"
                  "\n",
                  rank, link_number, link_);
  const uint64_t first = written_ > kRecords ? written_ - kRecords : 0;
  for (uint64_t i = first; i < written_; ++i) {
    const Record& record = records_[i % kRecords];
    fmt::format_to(std::back_inserter(text),
                   R"(,{{"name":"{}","ph":"{}","s":"t","ts":{}.{:03},"pid":{},"tid":{},)"
                   R"("args":{{"bytes":{},"tag":{}}}}})"
                   "\n",
                   name_of(record.kind), phase_of(record.kind), record.at_ns / 1000,
                   record.at_ns % 1000, rank, link_number, record.bytes, record.tag);
  }
  return text;
}

TraceSink::TraceSink(const std::string& file, int rank) : rank_(rank) {
  const size_t place = file.find("%r");
  if (place == std::string::npos)
    file_ = fmt::format("{}.{}", file, rank);
  else
    file_ = file.substr(0, place) + std::to_string(rank) + file.substr(place + 2);
}

TraceSink::~TraceSink() {
  std::string text =
      fmt::format(R"([{{"name":"process_name","ph":"M","pid":{},"args":{{"name":"rank {}"}}}})"
                  "\n",
                  rank_, rank_);
  for (size_t i = 0; i < rings_.size(); ++i) text += rings_[i]->format(rank_, i);
  text += "]\n";
  std::FILE* file = std::fopen(file_.c_str(), "we");
  const bool written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int number = errno;
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (!written || !closed)
    log_warn("the trace of rank {} could not be written to {} ({}); see STRAIT_TRACE_FILE", rank_,
             file_, std::strerror(number));
}

std::shared_ptr<TraceRing> TraceSink::open_ring(const std::string& link) {
  auto ring = std::make_shared<TraceRing>(link);
  std::lock_guard lock(mutex_);
  rings_.push_back(ring);
  return ring;
}

}  // namespace strait
