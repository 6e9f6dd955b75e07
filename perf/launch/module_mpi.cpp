// The launch module of one MPI, compiled once with each MPI's own compiler.
#include <mpi.h>

#include "perf/launch/module.h"

namespace {

int start(int* rank, int* size) {
  int provided = 0;
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided))
    return code;
  if (const int code = MPI_Comm_rank(MPI_COMM_WORLD, rank)) return code;
  return MPI_Comm_size(MPI_COMM_WORLD, size);
}

int broadcast(void* bytes, size_t count) {
  return MPI_Bcast(bytes, static_cast<int>(count), MPI_BYTE, 0, MPI_COMM_WORLD);
}

int all_gather(const void* mine, size_t count, void* all) {
  const int bytes = static_cast<int>(count);
  return MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

int barrier() {
  return MPI_Barrier(MPI_COMM_WORLD);
}

int finish() {
  return MPI_Finalize();
}

void abort_all(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
}

constexpr StraitLaunchModule kModule = {start, broadcast, all_gather, barrier, finish, abort_all};

}  // namespace

extern "C" __attribute__((visibility("default"))) const StraitLaunchModule* strait_launch_module() {
  return &kModule;
}
