#include "perf/engine/rank_device.hpp"

#include "base/config.hpp"
#include "base/cuda/driver.hpp"

namespace strait::perf {

Status told(const char* call, ncclResult_t result) {
  if (result == ncclSuccess) return {};
  const std::string sentence = ncclGetLastError(nullptr);
  const auto code = static_cast<Code>(result);
  // The library's sentences begin with the function that failed.
  if (sentence.starts_with("nccl") || sentence.starts_with("strait")) return {code, sentence};
  return error(code, "{}: {}", call, sentence.empty() ? ncclGetErrorString(result) : sentence);
}

Status failure_of(ncclComm_t comm) {
  ncclResult_t failure = ncclSuccess;
  STRAIT_TRY(told("ncclCommGetAsyncError", ncclCommGetAsyncError(comm, &failure)));
  return told("the collective failed", failure);
}

Result<int> gpus_to_use() {
  STRAIT_ASSIGN(const Config config, Config::from_environment());
  if (config.device == "host") return 0;
  if (config.device == "auto" && cuda::driver_state() != cuda::DriverState::kReady) return 0;
  STRAIT_ASSIGN(const cuda::Driver* driver, cuda::driver());
  return driver->device_count;
}

Result<std::unique_ptr<RankDevice>> open_device(int number, int gpus) {
  return gpus == 0 ? open_host(number) : open_gpu(number % gpus);
}

}  // namespace strait::perf
