#include "base/cuda/nvml.hpp"

#include <algorithm>
#include <mutex>

#include "base/config.hpp"
#include "base/cuda/library.hpp"
#include "base/cuda/nvml_abi.hpp"

namespace strait::cuda {
namespace {

// A call that this release does not have, or not in the form asked for, answers as if the GPU could
// not do it.
bool is_unsupported(int code) {
  return code == kNvmlNotSupported || code == kNvmlFunctionNotFound ||
         code == kNvmlArgumentVersionMismatch;
}

class Nvml {
 public:
  static Result<Nvml> open(const std::string& name);

  Result<NvmlDevice> device(const std::string& pci_bus_id) const;
  Result<NvmlFabricInfo> fabric(NvmlDevice device) const;
  Result<NvmlPlatformInfo> platform(NvmlDevice device) const;

 private:
  template <class... Parameters>
  int call(const char* name, Parameters... parameters) const {
    const auto function = reinterpret_cast<int (*)(Parameters...)>(library_.symbol(name));
    return function == nullptr ? kNvmlFunctionNotFound : function(parameters...);
  }
  Status failed(const char* name, int code) const;

  explicit Nvml(Library library) : library_(std::move(library)) {}
  Library library_;
};

Status Nvml::failed(const char* name, int code) const {
  const auto text_of = reinterpret_cast<const char* (*)(int)>(library_.symbol("nvmlErrorString"));
  return error(
      Code::kCudaError,
      "{}: {}; compare with nvidia-smi -q, or set STRAIT_DOMAIN to name the domain by hand", name,
      text_of == nullptr ? fmt::format("NVML error {}", code) : text_of(code));
}

Result<Nvml> Nvml::open(const std::string& name) {
  STRAIT_ASSIGN(Library library, Library::open(name, "NVML"));
  Nvml nvml(std::move(library));
  if (const int code = nvml.call("nvmlInit_v2"); code != kNvmlSuccess)
    return nvml.failed("nvmlInit_v2", code);
  return nvml;
}

Result<NvmlDevice> Nvml::device(const std::string& pci_bus_id) const {
  constexpr const char* kName = "nvmlDeviceGetHandleByPciBusId_v2";
  NvmlDevice device = nullptr;
  const int code = call(kName, pci_bus_id.c_str(), &device);
  if (code != kNvmlSuccess) return failed(kName, code).at("GPU " + pci_bus_id);
  return device;
}

Result<NvmlFabricInfo> Nvml::fabric(NvmlDevice device) const {
  constexpr const char* kName = "nvmlDeviceGetGpuFabricInfoV";
  NvmlFabricInfo info{};
  info.version = kNvmlFabricInfoVersion;
  const int code = call(kName, device, &info);
  if (is_unsupported(code)) return NvmlFabricInfo{};
  if (code != kNvmlSuccess) return failed(kName, code);
  return info;
}

Result<NvmlPlatformInfo> Nvml::platform(NvmlDevice device) const {
  constexpr const char* kName = "nvmlDeviceGetPlatformInfo";
  NvmlPlatformInfo info{};
  info.version = kNvmlPlatformInfoVersion;
  const int code = call(kName, device, &info);
  if (is_unsupported(code)) return NvmlPlatformInfo{};
  if (code != kNvmlSuccess) return failed(kName, code);
  return info;
}

// Never destroyed, as the library is never closed.
const Result<Nvml>& the_nvml() {
  static std::mutex mutex;
  static const Result<Nvml>* done = nullptr;
  const std::lock_guard lock(mutex);
  if (done != nullptr) return *done;
  const Result<Config> config = Config::from_environment();
  const std::string name = (config.ok() ? *config : Config()).nvml_library;
  static const auto& kept = *new Result<Nvml>(Nvml::open(name));
  done = &kept;
  return kept;
}

}  // namespace

std::string FabricFacts::domain_key() const {
  const bool named = std::any_of(cluster_uuid.begin(), cluster_uuid.end(),
                                 [](unsigned char byte) { return byte != 0; });
  if (state != FabricState::kCompleted || !named) return "";
  std::string key;
  for (const unsigned char byte : cluster_uuid) key += fmt::format("{:02x}", byte);
  return fmt::format("{}.{}", key, clique);
}

Result<FabricFacts> fabric_facts(const std::string& pci_bus_id) {
  FabricFacts facts;
  const Result<Nvml>& nvml = the_nvml();
  if (!nvml.ok()) return facts;
  STRAIT_ASSIGN(const NvmlDevice device, nvml->device(pci_bus_id));
  STRAIT_ASSIGN(const NvmlFabricInfo fabric, nvml->fabric(device));
  facts.state = static_cast<FabricState>(fabric.state);
  facts.clique = fabric.clique;
  std::copy_n(fabric.cluster_uuid, facts.cluster_uuid.size(), facts.cluster_uuid.begin());
  STRAIT_ASSIGN(const NvmlPlatformInfo platform, nvml->platform(device));
  const auto* const serial = reinterpret_cast<const char*>(platform.chassis_serial);
  facts.chassis_serial.assign(serial, std::find(serial, serial + 16, '\0'));
  return facts;
}

}  // namespace strait::cuda
