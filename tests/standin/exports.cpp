// What the loader finds in the stand-in libcuda.so.1: the way to all other entry points, and a few
// levers for tests (watch.hpp).
#include <array>

#include "standin/door.hpp"
#include "standin/machine.hpp"

#define STRAIT_EXPORT extern "C" __attribute__((visibility("default")))

namespace strait::standin {
namespace {

struct Row {
  std::string_view name;
  int version;
  void* function;
};

const std::array<Row, kCallCount>& rows() {
  static const std::array<Row, kCallCount> all = {
#define STRAIT_CUDA_CALL(name, version, parameters) \
  Row{#name, version, reinterpret_cast<void*>(&Door<Call::name, &name>::enter)},
#include "base/cuda/calls.def"
#include "standin/program.def"
#undef STRAIT_CUDA_CALL
  };
  return all;
}

constexpr int kFound = 0;
constexpr int kNotThere = 1;
constexpr int kVersionTooOld = 2;

}  // namespace
}  // namespace strait::standin

STRAIT_EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t,
                                      int* found) {
  using namespace strait::standin;
  *function = nullptr;
  int answer = kNotThere;
  for (const Row& row : rows()) {
    if (row.name != name) continue;
    // The row is the only form of the call that the stand-in has.
    answer = version == row.version ? kFound : kVersionTooOld;
    if (answer == kFound) *function = row.function;
  }
  if (found != nullptr) *found = answer;
  return answer == kFound ? kSuccess : kNotFound;
}

STRAIT_EXPORT int cuDriverGetVersion(int* version) {
  using namespace strait::standin;
  return Door<Call::cuDriverGetVersion, &strait::standin::cuDriverGetVersion>::enter(version);
}

STRAIT_EXPORT int cuCtxGetCurrent(CUctx_st** context) {
  using namespace strait::standin;
  return Door<Call::cuCtxGetCurrent, &strait::standin::cuCtxGetCurrent>::enter(context);
}

STRAIT_EXPORT void strait_standin_fail(const char* plan) {
  auto& machine = strait::standin::machine();
  const std::lock_guard lock(machine.mutex);
  machine.faults.set(plan);
}

STRAIT_EXPORT uint64_t strait_standin_calls(const char* name) {
  auto& machine = strait::standin::machine();
  const std::lock_guard lock(machine.mutex);
  return machine.faults.count(name);
}

STRAIT_EXPORT uint64_t strait_standin_live() {
  auto& machine = strait::standin::machine();
  const std::lock_guard lock(machine.mutex);
  return machine.contexts.size() + machine.streams.size() + machine.events.size() +
         machine.modules.size() + machine.graphs.size() + machine.execs.size() +
         machine.user_objects.size() + machine.physical.size() + machine.ranges.size() +
         machine.reserved.size();
}

STRAIT_EXPORT void strait_standin_last_kernel_failure(char* text, size_t bytes) {
  auto& machine = strait::standin::machine();
  const std::lock_guard lock(machine.mutex);
  text[machine.last_kernel_failure.copy(text, bytes - 1)] = '\0';
}
