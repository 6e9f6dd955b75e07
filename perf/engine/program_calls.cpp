#include "perf/engine/program_calls.hpp"

#include "base/config.hpp"
#include "base/cuda/entry_points.hpp"

namespace strait::perf {
namespace {

Result<ProgramCalls> find_all() {
  STRAIT_ASSIGN(const Config config, Config::from_environment());
  STRAIT_ASSIGN(const auto library, cuda::Library::open(config.cuda_library, "CUDA driver"));
  const cuda::EntryPoints points(library);
  ProgramCalls calls;
  points.fill(calls.set_current);
  points.fill(calls.begin_capture);
  points.fill(calls.end_capture);
  points.fill(calls.instantiate);
  points.fill(calls.launch);
  points.fill(calls.destroy_exec);
  points.fill(calls.destroy_graph);
  return calls;
}

}  // namespace

Result<const ProgramCalls*> ProgramCalls::find() {
  static const Result<ProgramCalls> found = find_all();
  if (!found.ok()) return found.status();
  return &found.value();
}

}  // namespace strait::perf
