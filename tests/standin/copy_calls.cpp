// Work without a kernel: copies, fills, values stored and waited for, functions on the host.
#include <atomic>
#include <thread>

#include "standin/machine.hpp"

namespace strait::standin {
namespace {

void* address(DevicePointer pointer) {
  return reinterpret_cast<void*>(pointer);
}

bool is_pageable(DevicePointer pointer) {
  return machine().ranges.find(pointer) == nullptr;
}

// Known memory is not left on the way.
bool fits(DevicePointer pointer, size_t bytes) {
  const Range* const range = machine().ranges.find(pointer);
  return range == nullptr || pointer + bytes <= range->base + range->bytes;
}

Work copy_work(const Stream& stream, DevicePointer target, DevicePointer source, size_t bytes) {
  return {stream.context, [=] {
            std::memmove(address(target), address(source), bytes);
            return 0;
          }};
}

// The driver takes pageable memory before it returns, so the program may change it at once.
Work staged_copy(const Stream& stream, DevicePointer target, DevicePointer source, size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(address(source));
  auto staged = std::make_shared<std::vector<std::byte>>(from, from + bytes);
  return {stream.context, [=] {
            std::memcpy(address(target), staged->data(), bytes);
            return 0;
          }};
}

void wait_for(const TicketRef& ticket) {
  const Gap gap;
  ticket->wait();
}

template <class Value>
bool satisfies(Value seen, Value value, unsigned flags) {
  switch (flags & 3) {
    case kWaitValueGeq:
      return static_cast<std::make_signed_t<Value>>(seen - value) >= 0;
    case kWaitValueEq:
      return seen == value;
    case kWaitValueAnd:
      return (seen & value) != 0;
    default:
      return static_cast<Value>(~(seen | value)) != 0;
  }
}

template <class Value>
int write_value(StreamHandle handle, DevicePointer target, Value value) {
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(handle, stream); code != 0) return code;
  if (target % sizeof(Value) != 0 || is_pageable(target)) return kInvalidValue;
  enqueue(*stream, {stream->context, [=] {
                      std::atomic_ref(*static_cast<Value*>(address(target)))
                          .store(value, std::memory_order_seq_cst);
                      return 0;
                    }});
  return kSuccess;
}

template <class Value>
int wait_value(StreamHandle handle, DevicePointer source, Value value, unsigned flags) {
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(handle, stream); code != 0) return code;
  if (source % sizeof(Value) != 0 || is_pageable(source)) return kInvalidValue;
  enqueue(*stream, {stream->context, [=, context = stream->context] {
                      const std::atomic_ref seen(*static_cast<Value*>(address(source)));
                      while (context->failed == 0 &&
                             !satisfies(seen.load(std::memory_order_acquire), value, flags))
                        std::this_thread::yield();
                      return 0;
                    }});
  return kSuccess;
}

}  // namespace

int cuMemcpyAsync(DevicePointer target, DevicePointer source, size_t bytes, StreamHandle handle) {
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(handle, stream); code != 0) return code;
  if (bytes == 0) return kSuccess;
  if (!fits(target, bytes) || !fits(source, bytes)) return kInvalidValue;
  if (stream->capture == nullptr && is_pageable(source)) {
    enqueue(*stream, staged_copy(*stream, target, source, bytes));
    return kSuccess;
  }
  const TicketRef ticket = enqueue(*stream, copy_work(*stream, target, source, bytes));
  if (ticket != nullptr && is_pageable(target)) wait_for(ticket);
  return stream->context->failed;
}

int cuMemcpy(DevicePointer target, DevicePointer source, size_t bytes) {
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(nullptr, stream); code != 0) return code;
  if (!fits(target, bytes) || !fits(source, bytes)) return kInvalidValue;
  if (bytes > 0) wait_for(enqueue(*stream, copy_work(*stream, target, source, bytes)));
  return stream->context->failed;
}

int cuMemsetD8Async(DevicePointer target, unsigned char value, size_t bytes, StreamHandle handle) {
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(handle, stream); code != 0) return code;
  if (is_pageable(target) || !fits(target, bytes)) return kInvalidValue;
  enqueue(*stream, {stream->context, [=] {
                      std::memset(address(target), value, bytes);
                      return 0;
                    }});
  return kSuccess;
}

int cuStreamWriteValue32(StreamHandle stream, DevicePointer target, uint32_t value, unsigned) {
  return write_value(stream, target, value);
}

int cuStreamWriteValue64(StreamHandle stream, DevicePointer target, uint64_t value, unsigned) {
  return write_value(stream, target, value);
}

int cuStreamWaitValue32(StreamHandle stream, DevicePointer source, uint32_t value, unsigned flags) {
  return wait_value(stream, source, value, flags);
}

int cuStreamWaitValue64(StreamHandle stream, DevicePointer source, uint64_t value, unsigned flags) {
  return wait_value(stream, source, value, flags);
}

int cuLaunchHostFunc(StreamHandle handle, HostFunction function, void* argument) {
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(handle, stream); code != 0) return code;
  if (function == nullptr) return kInvalidValue;
  enqueue(*stream, {stream->context, [=] {
                      call_back(function, argument);
                      return 0;
                    }});
  return kSuccess;
}

}  // namespace strait::standin
