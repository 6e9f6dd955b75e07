#include "base/cuda/driver.hpp"

#include <atomic>
#include <memory>
#include <mutex>

#include "base/config.hpp"
#include "base/cuda/entry_points.hpp"
#include "base/cuda/failure.hpp"

namespace strait::cuda {
namespace {

constexpr int kVersionMin = 12000;

std::string spelt(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// Found apart from the table: how old a driver is must be known before it can be asked for more.
Result<int> version_of(const Library& library) {
  const auto get_version =
      reinterpret_cast<int (*)(int* version)>(library.symbol("cuDriverGetVersion"));
  int version = 0;
  if (get_version == nullptr || get_version(&version) != kSuccess)
    return error(Code::kCudaError,
                 "{} is no CUDA driver; install NVIDIA's, or unset STRAIT_CUDA_LIBRARY",
                 library.name());
  if (version < kVersionMin)
    return error(Code::kCudaError,
                 "the CUDA driver here is {}, {} is the oldest that works; update NVIDIA's driver "
                 "to release 525 or later",
                 spelt(version), spelt(kVersionMin));
  return version;
}

Status fill(Driver& driver, const Library& library) {
  const EntryPoints points(library);
  std::string missing;
  const auto add = [&](auto& entry) {
    if (!points.fill(entry) && entry.version() <= kVersionMin)
      missing += (missing.empty() ? "" : ", ") + std::string(entry.name());
  };
#define STRAIT_CUDA_CALL(name, version, parameters) add(driver.name);
#include "base/cuda/calls.def"
#undef STRAIT_CUDA_CALL
  if (missing.empty()) return Status();
  return error(Code::kCudaError, "the CUDA driver {} in {} lacks {}; reinstall NVIDIA's driver",
               spelt(driver.version), library.name(), missing);
}

using GetCurrentContext = int (*)(ContextHandle* context);

struct Search {
  DriverState state;
  std::unique_ptr<Driver> driver;  // there when the state is kReady
  Status why;
  GetCurrentContext current = nullptr;  // of a driver that is there
};

Search search(const std::string& name) {
  const Result<Library> library = Library::open(name, "CUDA driver");
  if (!library.ok()) return {DriverState::kAbsent, nullptr, library.status()};
  Result<Driver> opened = Driver::open(*library);
  const auto current = reinterpret_cast<GetCurrentContext>(library->symbol("cuCtxGetCurrent"));
  if (!opened.ok()) return {DriverState::kUnusable, nullptr, opened.status(), current};
  if (opened->device_count > 0)
    return {DriverState::kReady, std::make_unique<Driver>(std::move(*opened)), Status(), current};
  return {DriverState::kAbsent, nullptr,
          error(Code::kCudaError,
                "the CUDA driver sees no GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES")};
}

std::atomic<const Search*> the_done = nullptr;  // partner: opened_driver()

// Never destroyed: streams and memory of static objects are given back after main() has returned.
const Search& the_search() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const Search* done = the_done.load(); done != nullptr) return *done;
  const Result<Config> config = Config::from_environment();
  static const auto& kept = *new Search(search((config.ok() ? *config : Config()).cuda_library));
  the_done.store(&kept);
  return kept;
}

}  // namespace

Result<Driver> Driver::open(const Library& library) {
  Driver driver;
  STRAIT_ASSIGN(driver.version, version_of(library));
  STRAIT_TRY(fill(driver, library));
  name_errors_by(driver.cuGetErrorName);
  const int started = driver.cuInit.code(0);
  if (started == kNoDevice) return driver;
  if (started != kSuccess) return failure("cuInit", started);
  STRAIT_TRY(driver.cuDeviceGetCount(&driver.device_count));
  return driver;
}

DriverState driver_state() {
  return the_search().state;
}

Result<const Driver*> driver() {
  const Search& found = the_search();
  if (found.state != DriverState::kReady) return found.why;
  return found.driver.get();
}

const Driver* opened_driver() {
  const Search* done = the_done.load();
  return done != nullptr && done->state == DriverState::kReady ? done->driver.get() : nullptr;
}

bool caller_has_context() {
  const GetCurrentContext current = the_search().current;
  ContextHandle context = nullptr;
  return current != nullptr && current(&context) == kSuccess && context != nullptr;
}

}  // namespace strait::cuda
