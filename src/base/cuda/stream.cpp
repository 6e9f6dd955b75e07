#include "base/cuda/stream.hpp"

#include "base/cuda/patience.hpp"

namespace strait::cuda {

Result<Stream> Stream::create(const Driver& driver, ContextHandle context) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  int least = 0;
  int greatest = 0;
  STRAIT_TRY(driver.cuCtxGetStreamPriorityRange(&least, &greatest));
  StreamHandle handle = nullptr;
  STRAIT_TRY(driver.cuStreamCreateWithPriority(&handle, kStreamNonBlocking, greatest));
  Stream stream;
  stream.stream_ = {driver, context, handle, [](const Driver& owner, StreamHandle mine) {
                      report_release("cuStreamDestroy", owner.cuStreamDestroy.code(mine));
                    }};
  return stream;
}

Result<ContextHandle> context_of(const Driver& driver, StreamHandle stream) {
  ContextHandle context = nullptr;
  STRAIT_TRY(driver.cuStreamGetCtx(stream, &context));
  return context;
}

Result<uint64_t> id_of(const Driver& driver, StreamHandle stream) {
  unsigned long long id = 0;
  STRAIT_TRY(driver.cuStreamGetId(stream, &id));
  return id;
}

Result<bool> is_idle(const Driver& driver, StreamHandle stream) {
  const int code = driver.cuStreamQuery.code(stream);
  if (code == kSuccess || code == kNotReady) return code == kSuccess;
  return failure("cuStreamQuery", code);
}

Status wait_idle(const Driver& driver, StreamHandle stream, Deadline deadline) {
  return wait_until([&] { return is_idle(driver, stream); }, deadline, "a stream");
}

Status call_on_host(const Driver& driver, StreamHandle stream, HostFunction function,
                    void* argument) {
  return driver.cuLaunchHostFunc(stream, function, argument);
}

Status write_value(const Driver& driver, StreamHandle stream, DevicePointer address,
                   uint32_t value) {
  return driver.cuStreamWriteValue32(stream, address, value, 0);
}

Status write_value(const Driver& driver, StreamHandle stream, DevicePointer address,
                   uint64_t value) {
  return driver.cuStreamWriteValue64(stream, address, value, 0);
}

Status wait_value(const Driver& driver, StreamHandle stream, DevicePointer address,
                  uint32_t value) {
  return driver.cuStreamWaitValue32(stream, address, value, kWaitValueGeq);
}

Status wait_value(const Driver& driver, StreamHandle stream, DevicePointer address,
                  uint64_t value) {
  return driver.cuStreamWaitValue64(stream, address, value, kWaitValueGeq);
}

}  // namespace strait::cuda
