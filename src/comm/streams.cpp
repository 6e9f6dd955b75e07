#include "comm/streams.hpp"

#include "exec/stream.hpp"

namespace strait {
namespace {

// Each call in the queue ends by its own deadline; this bounds their sum.
constexpr int64_t kWaitMs = 86'400'000;

}  // namespace

void* open_stream() {
  return create_stream();
}

Status wait_for_stream(const void* handle) {
  STRAIT_ASSIGN(const auto stream, find_stream(handle));
  return stream ? stream->synchronize(Deadline::after_ms(kWaitMs)) : Status();
}

Result<bool> is_stream_idle(const void* handle) {
  STRAIT_ASSIGN(const auto stream, find_stream(handle));
  return !stream || stream->idle();
}

Status close_stream(const void* handle) {
  if (completes_before_return(handle)) return Status();
  return destroy_stream(handle, Deadline::after_ms(kWaitMs));
}

}  // namespace strait
