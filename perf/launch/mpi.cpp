#include "perf/launch/mpi.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "perf/launch/module.h"

namespace strait::perf {
namespace {

class MpiLauncher : public Launcher {
 public:
  MpiLauncher(const StraitLaunchModule* module, int rank, int size)
      : module_(module), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Status broadcast(std::span<std::byte> bytes) override {
    return told("MPI_Bcast", module_->broadcast(bytes.data(), bytes.size()));
  }
  Result<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) override {
    std::vector<std::byte> all(mine.size() * static_cast<size_t>(size_));
    STRAIT_TRY(told("MPI_Allgather", module_->all_gather(mine.data(), mine.size(), all.data())));
    return all;
  }
  Status barrier() override { return told("MPI_Barrier", module_->barrier()); }
  Status finish() override { return told("MPI_Finalize", module_->finish()); }
  [[noreturn]] void abort(int code) override {
    module_->abort(code);
    ::_exit(code);
  }

 private:
  static Status told(const char* call, int code) {
    if (code == 0) return {};
    return error(Code::kRemoteError, "{} returned {}", call, code);
  }

  const StraitLaunchModule* module_;
  int rank_, size_;
};

// Beside the programs: bin/../lib in a build and where they are installed.
std::string module_path(const char* file) {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (program.parent_path().parent_path() / "lib" / file).string();
}

}  // namespace

Result<std::unique_ptr<Launcher>> launch_mpi(const LaunchEnvironment& environment) {
  const bool open_mpi = environment.kind == LaunchKind::kOpenMpi;
  const std::string path =
      module_path(open_mpi ? "strait_launch_openmpi.so" : "strait_launch_mpich.so");
  // Open MPI's own plug-ins look for its symbols among the global ones.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    return error(Code::kSystemError,
                 "{} started this process but its launch module cannot be opened ({}); build where "
                 "mpicxx.{} is installed, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT",
                 name_of(environment.kind), ::dlerror(), open_mpi ? "openmpi" : "mpich");
  using Entry = const StraitLaunchModule* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(library, "strait_launch_module"));
  if (entry == nullptr) return error(Code::kSystemError, "{} is no launch module", path);
  const StraitLaunchModule* module = entry();
  int rank = 0, size = 0;
  if (const int code = module->start(&rank, &size); code != 0)
    return error(Code::kSystemError, "MPI_Init_thread returned {}", code);
  if (rank != environment.rank || size != environment.size)
    return error(Code::kSystemError, "the environment says process {} of {}, MPI says {} of {}",
                 environment.rank, environment.size, rank, size);
  return std::unique_ptr<Launcher>(std::make_unique<MpiLauncher>(module, rank, size));
}

}  // namespace strait::perf
