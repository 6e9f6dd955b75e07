// Modules, functions and launches. A kernel runs in the SIMT layer on the stream's worker.
#include <array>
#include <cstring>

#include "simt/simt.hpp"
#include "standin/machine.hpp"

namespace strait::standin {
namespace {

constexpr unsigned kThreadsMax = 1024;
constexpr unsigned kThreadsPerMultiprocessor = 2048;
constexpr int kSharedBytesMax = 227 << 10;
constexpr unsigned kBlocksPerMultiprocessor = 32;

// A fatbin, an object file, PTX, or what stands for an image where nvcc is absent.
bool is_image(const void* image) {
  constexpr std::array<unsigned char, 4> kFatbin = {0x50, 0xed, 0x55, 0xba};
  constexpr std::array<unsigned char, 4> kElf = {0x7f, 'E', 'L', 'F'};
  const auto begins_with = [image](const void* magic, size_t bytes) {
    return std::memcmp(image, magic, bytes) == 0;
  };
  return image != nullptr &&
         (begins_with(kFatbin.data(), 4) || begins_with(kElf.data(), 4) || begins_with("//", 2) ||
          begins_with(".version", 8) || begins_with("strait-kernels", 14));
}

Function* function_of(FunctionHandle handle) {
  return reinterpret_cast<Function*>(handle);
}

// The values of the arguments, kept from the call to the launch, or to every launch of a graph.
class Arguments {
 public:
  Arguments(const simt::Kernel& kernel, void** values) {
    for (const simt::Parameter& parameter : kernel.parameters) {
      const auto* const from = static_cast<const std::byte*>(values[bytes_.size()]);
      bytes_.emplace_back(parameter.bytes + alignof(std::max_align_t));
      std::memcpy(aligned(bytes_.back()), from, parameter.bytes);
    }
    for (auto& one : bytes_) pointers_.push_back(aligned(one));
  }
  void** pointers() { return pointers_.data(); }

 private:
  static void* aligned(std::vector<std::byte>& bytes) {
    constexpr uintptr_t kAlign = alignof(std::max_align_t);
    const auto at = reinterpret_cast<uintptr_t>(bytes.data());
    return bytes.data() + (kAlign - at % kAlign) % kAlign;
  }
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<void*> pointers_;
};

int run_kernel(const simt::Kernel& kernel, const simt::Launch& launch, Arguments& arguments) {
  simt::Options options;
  options.deadline_ms = machine().settings.kernel_ms;
  options.blocks_at_once =
      std::max(options.blocks_at_once, static_cast<uint32_t>(machine().settings.multiprocessors));
  const Status status = simt::run(
      launch, [&] { kernel(arguments.pointers()); }, options);
  if (status.ok()) return 0;
  const std::lock_guard lock(machine().mutex);
  machine().last_kernel_failure = status.message();
  return kLaunchFailed;
}

int blocks_at_once(unsigned threads) {
  const unsigned by_threads = kThreadsPerMultiprocessor / std::max(threads, 1U);
  return static_cast<int>(std::min(by_threads, kBlocksPerMultiprocessor));
}

int check_shape(const LaunchConfig& config, const Function& function) {
  const uint64_t threads = uint64_t{config.block_x} * config.block_y * config.block_z;
  const uint64_t blocks = uint64_t{config.grid_x} * config.grid_y * config.grid_z;
  if (threads == 0 || blocks == 0 || threads > kThreadsMax ||
      config.shared_bytes > static_cast<unsigned>(function.shared_bytes_max))
    return kInvalidValue;
  for (unsigned i = 0; i < config.attribute_count; ++i) {
    const LaunchAttribute& attribute = config.attributes[i];
    if (attribute.id == kLaunchClusterDimension && config.grid_x % attribute.value.cluster[0] != 0)
      return kInvalidValue;
    if (attribute.id != kLaunchCooperative || attribute.value.cooperative == 0) continue;
    const auto room = static_cast<uint64_t>(machine().settings.multiprocessors) *
                      static_cast<uint64_t>(blocks_at_once(static_cast<unsigned>(threads)));
    if (blocks > room) return kCooperativeLaunchTooLarge;
  }
  return kSuccess;
}

}  // namespace

int cuModuleLoadData(ModuleHandle* handle, const void* image) {
  ContextRef context;
  if (const int code = current(context); code != 0) return code;
  if (!is_image(image)) return kInvalidImage;
  auto module = std::make_shared<Module>();
  module->context = context;
  *handle = machine().modules.add(std::move(module));
  return kSuccess;
}

int cuModuleUnload(ModuleHandle handle) {
  return machine().modules.remove(handle) == nullptr ? kInvalidHandle : kSuccess;
}

int cuModuleGetFunction(FunctionHandle* handle, ModuleHandle module_handle, const char* name) {
  const auto module = machine().modules.find(module_handle);
  if (module == nullptr) return kInvalidHandle;
  const simt::Kernel* const kernel = simt::find_kernel(name);
  if (kernel == nullptr) return kNotFound;
  Function& function = module->functions[name];
  function.kernel = kernel;
  function.context = module->context;
  *handle = reinterpret_cast<FunctionHandle>(&function);
  return kSuccess;
}

int cuFuncSetAttribute(FunctionHandle handle, FunctionAttribute attribute, int value) {
  if (attribute != kFunctionMaxDynamicSharedBytes || value < 0 || value > kSharedBytesMax)
    return kInvalidValue;
  function_of(handle)->shared_bytes_max = value;
  return kSuccess;
}

int cuFuncGetAttribute(int* value, FunctionAttribute attribute, FunctionHandle handle) {
  switch (attribute) {
    case kFunctionMaxThreads:
      *value = kThreadsMax;
      return kSuccess;
    case kFunctionRegisters:
      *value = 32;
      return kSuccess;
    case kFunctionMaxDynamicSharedBytes:
      *value = function_of(handle)->shared_bytes_max;
      return kSuccess;
    case kFunctionSharedBytes:
    case kFunctionLocalBytes:
      *value = 0;
      return kSuccess;
  }
  return kInvalidValue;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, FunctionHandle, int threads,
                                                size_t shared_bytes) {
  if (threads <= 0) return kInvalidValue;
  *blocks = blocks_at_once(static_cast<unsigned>(threads));
  if (shared_bytes > 0)
    *blocks = std::min(*blocks, static_cast<int>(kSharedBytesMax / shared_bytes));
  return kSuccess;
}

int cuLaunchKernelEx(const LaunchConfig* config, FunctionHandle handle, void** values,
                     void** extra) {
  std::shared_ptr<Stream> stream;
  if (const int code = working_stream_of(config->stream, stream); code != 0) return code;
  const Function& function = *function_of(handle);
  if (function.context != stream->context) return kInvalidHandle;
  if (extra != nullptr) return kNotSupported;
  if (const int code = check_shape(*config, function); code != 0) return code;
  const int failure = machine().faults.strike("kernel");
  auto arguments = std::make_shared<Arguments>(*function.kernel, values);
  simt::Launch launch{{config->grid_x, config->grid_y, config->grid_z},
                      {config->block_x, config->block_y, config->block_z},
                      config->shared_bytes,
                      function.kernel->name};
  enqueue(*stream, {stream->context, [=, kernel = function.kernel] {
                      return failure != 0 ? failure : run_kernel(*kernel, launch, *arguments);
                    }});
  return kSuccess;
}

int cuLaunchKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   StreamHandle stream, void** arguments, void** extra) {
  const LaunchConfig config{grid_x,  grid_y,       grid_z, block_x, block_y,
                            block_z, shared_bytes, stream, nullptr, 0};
  return cuLaunchKernelEx(&config, function, arguments, extra);
}

}  // namespace strait::standin
