#include "base/cuda/failure.hpp"

#include <array>
#include <atomic>

#include "base/cuda/entry.hpp"
#include "base/log.hpp"

namespace strait::cuda {
namespace {

using NameOf = Entry<int(ResultCode, const char**)>::Function;
std::atomic<NameOf> the_names = nullptr;  // partner: name_errors_by() stores, failure() loads

struct Remedy {
  int code;
  const char* text;
};

constexpr const char* kNoRemedy = "NVIDIA's page of the call tells what it means";
constexpr const char* kSticky =
    "a kernel broke the context, which is of no more use: find the kernel with compute-sanitizer "
    "and restart the process";

constexpr std::array kRemedies = {
    Remedy{kInvalidValue, "an argument does not fit the device or the pointer; check both"},
    Remedy{kOutOfMemory,
           "free device memory, or lower STRAIT_SLOT_BYTES, STRAIT_SLOTS or STRAIT_LANES"},
    Remedy{kNotInitialized,
           "a process that used CUDA before it forked cannot use it in the child; fork first, or "
           "start a new program"},
    Remedy{kDeinitialized, "the process is ending; destroy communicators before main() returns"},
    Remedy{kCallRequiresNewerDriver, "update NVIDIA's driver"},
    Remedy{kNoDevice, "check nvidia-smi and CUDA_VISIBLE_DEVICES"},
    Remedy{kInvalidDevice, "there is no such device; check CUDA_VISIBLE_DEVICES"},
    Remedy{kInvalidImage, "the kernels of the library cannot be read; reinstall it"},
    Remedy{kInvalidContext, "set the device of this thread first (cudaSetDevice)"},
    Remedy{kNoBinaryForGpu, "the library has no kernels for this GPU; build it for its type"},
    Remedy{kPeerAccessUnsupported,
           "the two GPUs cannot reach each other; nvidia-smi topo shows it"},
    Remedy{kUnsupportedPtxVersion, "the driver is older than the kernels; update NVIDIA's driver"},
    Remedy{kOperatingSystem, "the kernel refused the driver; dmesg may say why"},
    Remedy{kInvalidHandle,
           "the stream, event or memory handle is of another process, fabric or time; check that "
           "it still exists and that both sides share one IMEX domain"},
    Remedy{kNotFound, "the library and its kernels are of different versions; reinstall it"},
    Remedy{kIllegalAddress, kSticky},
    Remedy{kLaunchOutOfResources, "lower the number of threads or the shared memory of the kernel"},
    Remedy{kLaunchTimeout, "the display's watchdog ended the kernel; use a GPU without display"},
    Remedy{kContextIsDestroyed, "keep the device's context until its communicators are destroyed"},
    Remedy{kHostMemoryAlreadyRegistered,
           "unregister the host memory before it is registered again"},
    Remedy{kLaunchFailed, kSticky},
    Remedy{kCooperativeLaunchTooLarge, "lower NCCL_MAX_CTAS, or leave the GPU room for all blocks"},
    Remedy{kNotPermitted,
           "the driver forbids it here: inside a call-back, or without an IMEX channel in "
           "/dev/nvidia-caps-imex-channels"},
    Remedy{kNotSupported, "this GPU or driver cannot do it; strait info shows what it can"},
    Remedy{kSystemNotReady, "start nvidia-fabricmanager, and wait until the GPUs are ready"},
    Remedy{kSystemDriverMismatch,
           "the kernel module and libcuda are of different versions; reboot after an update"},
    Remedy{kStreamCaptureUnsupported, "this cannot be captured into a graph; call it before"},
    Remedy{kStreamCaptureInvalidated, "an earlier call broke the capture; end it and start anew"},
    Remedy{kStreamCaptureMerge, "two captures met in one stream; end one before"},
    Remedy{kStreamCaptureIsolation, "record the event inside the capture that waits for it"},
    Remedy{kStreamCaptureImplicit, "do not use the NULL stream while another stream is captured"},
    Remedy{kStreamCaptureWrongThread, "end the capture in the thread that began it"},
};

const char* remedy_of(int code) {
  for (const Remedy& remedy : kRemedies)
    if (remedy.code == code) return remedy.text;
  return is_sticky(code) ? kSticky : kNoRemedy;
}

std::string name_of(int code) {
  const NameOf names = the_names.load(std::memory_order_acquire);
  const char* name = nullptr;
  if (names != nullptr && names(static_cast<ResultCode>(code), &name) == kSuccess &&
      name != nullptr)
    return name;
  return fmt::format("CUDA error {}", code);
}

}  // namespace

Status failure(const char* call, int code) {
  return error(Code::kCudaError, "{}: {}; {}", call, name_of(code), remedy_of(code));
}

bool is_sticky(int code) {
  constexpr std::array kinds = {214, 220, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721};
  for (const int kind : kinds)
    if (code == kind) return true;
  return false;
}

void report_release(const char* call, int code) {
  if (code == kSuccess || code == kDeinitialized || code == kContextIsDestroyed || is_sticky(code))
    return;
  log_warn("{}", failure(call, code).message());
}

void name_errors_by(const Entry<int(ResultCode code, const char** name)>& name_of_error) {
  the_names.store(name_of_error.function(), std::memory_order_release);
}

}  // namespace strait::cuda
