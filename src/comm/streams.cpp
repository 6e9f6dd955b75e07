#include "comm/streams.hpp"

#include "exec/stream.hpp"

namespace strait {

Result<void*> create_stream() { return HostStream::create(); }

Status synchronize_stream(void* handle) {
  if (HostStream::is_default(handle)) return Status();
  STRAIT_ASSIGN(const auto stream, HostStream::lookup(handle));
  return stream->synchronize();
}

Result<bool> stream_is_idle(void* handle) {
  if (HostStream::is_default(handle)) return true;
  STRAIT_ASSIGN(const auto stream, HostStream::lookup(handle));
  return stream->query();
}

Status destroy_stream(void* handle) { return HostStream::destroy(handle); }

}  // namespace strait
