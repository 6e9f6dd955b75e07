#include "perf/engine/program_calls.hpp"

#include "base/config.hpp"
#include "base/cuda/library.hpp"

namespace strait::perf {
namespace {

using GetProcAddress = int (*)(const char* name, void** function, int version, uint64_t flags,
                               int* found);

Result<ProgramCalls> find_all() {
  STRAIT_ASSIGN(const Config config, Config::from_environment());
  STRAIT_ASSIGN(const auto library, cuda::Library::open(config.cuda_library, "CUDA driver"));
  const auto find = reinterpret_cast<GetProcAddress>(library.symbol("cuGetProcAddress_v2"));
  if (find == nullptr)
    return error(Code::kCudaError, "{} is no CUDA driver of version 12 or later", library.name());
  ProgramCalls calls;
  const auto add = [&](auto& call) {
    void* function = nullptr;
    find(call.name(), &function, call.version(), 0, nullptr);
    call.set(function);  // one that is not there says so when it is called
  };
  add(calls.set_current);
  add(calls.begin_capture);
  add(calls.end_capture);
  add(calls.instantiate);
  add(calls.launch);
  add(calls.destroy_exec);
  add(calls.destroy_graph);
  return calls;
}

}  // namespace

Result<const ProgramCalls*> ProgramCalls::find() {
  static const Result<ProgramCalls> found = find_all();
  if (!found.ok()) return found.status();
  return &found.value();
}

}  // namespace strait::perf
