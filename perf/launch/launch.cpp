#include <unistd.h>

#include "perf/launch/launcher.hpp"
#include "perf/launch/mpi.hpp"
#include "perf/launch/rendezvous.hpp"

namespace strait::perf {
namespace {

class SingleProcess : public Launcher {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Status broadcast(std::span<std::byte>) override { return {}; }
  Result<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) override {
    return std::vector<std::byte>(mine.begin(), mine.end());
  }
  Status barrier() override { return {}; }
  Status finish() override { return {}; }
  [[noreturn]] void abort(int code) override { ::_exit(code); }
};

}  // namespace

Result<std::unique_ptr<Launcher>> launch(const LaunchEnvironment& environment) {
  switch (environment.kind) {
    case LaunchKind::kOpenMpi:
    case LaunchKind::kMpich:
      return launch_mpi(environment);
    case LaunchKind::kTorchrun:
    case LaunchKind::kSlurm:
      if (environment.size > 1) return launch_rendezvous(environment, RendezvousLimits{});
      break;
    case LaunchKind::kSingle:
      break;
  }
  return std::unique_ptr<Launcher>(std::make_unique<SingleProcess>());
}

}  // namespace strait::perf
