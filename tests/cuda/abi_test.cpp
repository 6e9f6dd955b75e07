// Our own words for the driver's types against cuda.h, where there is one.
#include <gtest/gtest.h>

#include "standin/program.hpp"

#if STRAIT_HAS_CUDA_H
#include <cuda.h>
#include <cudaTypedefs.h>

namespace strait::cuda {
namespace {

// Two types that the calling convention passes in the same way.
template <class Ours, class Theirs>
constexpr bool same_shape() {
  if constexpr (std::is_pointer_v<Ours>) {
    return std::is_pointer_v<Theirs>;
  } else {
    return std::is_pointer_v<Theirs> == std::is_pointer_v<Ours> &&
           std::is_class_v<Theirs> == std::is_class_v<Ours> && sizeof(Ours) == sizeof(Theirs) &&
           alignof(Ours) == alignof(Theirs);
  }
}

// Where a pointer leads: as large as theirs, or void.
template <class Ours, class Theirs>
constexpr bool same_target() {
  using OurTarget = std::remove_pointer_t<Ours>;
  using TheirTarget = std::remove_pointer_t<Theirs>;
  constexpr bool opaque = std::is_void_v<OurTarget> || std::is_void_v<TheirTarget> ||
                          std::is_function_v<OurTarget> || std::is_same_v<OurTarget, TheirTarget>;
  if constexpr (opaque)
    return true;
  else
    return same_shape<OurTarget, TheirTarget>();
}

template <class Ours, class Theirs>
constexpr bool same_parameter() {
  if constexpr (!same_shape<Ours, Theirs>())
    return false;
  else if constexpr (std::is_pointer_v<Ours>)
    return same_target<Ours, Theirs>();
  else
    return true;
}

template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class... Ours, class... Theirs>
requires(sizeof...(Ours) ==
         sizeof...(Theirs)) struct SameCall<int(Ours...), CUresult (*)(Theirs...)>
    : std::bool_constant<(same_parameter<Ours, Theirs>() && ...)> {
};

#define STRAIT_CUDA_CALL(name, version, parameters) \
  static_assert(SameCall<int parameters, PFN_##name##_v##version>::value, #name);
#include "base/cuda/calls.def"
using standin::GraphExecHandle;
#include "standin/program.def"
#undef STRAIT_CUDA_CALL

#define STRAIT_SAME(ours, theirs) \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #ours)
STRAIT_SAME(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
STRAIT_SAME(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
STRAIT_SAME(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
STRAIT_SAME(kDeinitialized, CUDA_ERROR_DEINITIALIZED);
STRAIT_SAME(kCallRequiresNewerDriver, CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
STRAIT_SAME(kNoDevice, CUDA_ERROR_NO_DEVICE);
STRAIT_SAME(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
STRAIT_SAME(kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
STRAIT_SAME(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
STRAIT_SAME(kMapFailed, CUDA_ERROR_MAP_FAILED);
STRAIT_SAME(kAlreadyMapped, CUDA_ERROR_ALREADY_MAPPED);
STRAIT_SAME(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
STRAIT_SAME(kNotMapped, CUDA_ERROR_NOT_MAPPED);
STRAIT_SAME(kPeerAccessUnsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
STRAIT_SAME(kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
STRAIT_SAME(kOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM);
STRAIT_SAME(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
STRAIT_SAME(kNotFound, CUDA_ERROR_NOT_FOUND);
STRAIT_SAME(kNotReady, CUDA_ERROR_NOT_READY);
STRAIT_SAME(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
STRAIT_SAME(kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
STRAIT_SAME(kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
STRAIT_SAME(kPeerAccessAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
STRAIT_SAME(kPeerAccessNotEnabled, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
STRAIT_SAME(kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
STRAIT_SAME(kHostMemoryAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
STRAIT_SAME(kHostMemoryNotRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
STRAIT_SAME(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
STRAIT_SAME(kCooperativeLaunchTooLarge, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
STRAIT_SAME(kNotPermitted, CUDA_ERROR_NOT_PERMITTED);
STRAIT_SAME(kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
STRAIT_SAME(kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
STRAIT_SAME(kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
STRAIT_SAME(kStreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
STRAIT_SAME(kStreamCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
STRAIT_SAME(kCapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
STRAIT_SAME(kUnknown, CUDA_ERROR_UNKNOWN);

STRAIT_SAME(kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
STRAIT_SAME(kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
STRAIT_SAME(kUnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
STRAIT_SAME(kComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
STRAIT_SAME(kComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
STRAIT_SAME(kCooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
STRAIT_SAME(kSharedBytesPerBlockOptIn, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
STRAIT_SAME(kVirtualMemory, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
STRAIT_SAME(kPosixHandles, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
STRAIT_SAME(kRdmaWithVirtualMemory, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED);
STRAIT_SAME(kGpuDirectRdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
STRAIT_SAME(kDmaBuf, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
STRAIT_SAME(kFabricHandles, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED);

STRAIT_SAME(kPeerPerformanceRank, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK);
STRAIT_SAME(kPeerAccessSupported, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED);
STRAIT_SAME(kPeerNativeAtomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
STRAIT_SAME(kPointerContext, CU_POINTER_ATTRIBUTE_CONTEXT);
STRAIT_SAME(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
STRAIT_SAME(kPointerDevicePointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
STRAIT_SAME(kPointerHostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER);
STRAIT_SAME(kPointerSyncMemops, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
STRAIT_SAME(kPointerBufferId, CU_POINTER_ATTRIBUTE_BUFFER_ID);
STRAIT_SAME(kPointerIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
STRAIT_SAME(kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
STRAIT_SAME(kPointerIsLegacyIpcCapable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
STRAIT_SAME(kPointerRangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
STRAIT_SAME(kPointerRangeBytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
STRAIT_SAME(kPointerMapped, CU_POINTER_ATTRIBUTE_MAPPED);
STRAIT_SAME(kPointerAllowedHandleTypes, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES);
STRAIT_SAME(kMemoryHost, CU_MEMORYTYPE_HOST);
STRAIT_SAME(kMemoryDevice, CU_MEMORYTYPE_DEVICE);
STRAIT_SAME(kFunctionMaxThreads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
STRAIT_SAME(kFunctionSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
STRAIT_SAME(kFunctionLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
STRAIT_SAME(kFunctionRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS);
STRAIT_SAME(kFunctionMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
STRAIT_SAME(kHostPortable, CU_MEMHOSTALLOC_PORTABLE);
STRAIT_SAME(kHostPortable, CU_MEMHOSTREGISTER_PORTABLE);
STRAIT_SAME(kHostDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP);
STRAIT_SAME(kHostDeviceMap, CU_MEMHOSTREGISTER_DEVICEMAP);
STRAIT_SAME(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
STRAIT_SAME(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
STRAIT_SAME(kEventRecordExternal, CU_EVENT_RECORD_EXTERNAL);
STRAIT_SAME(kEventWaitExternal, CU_EVENT_WAIT_EXTERNAL);
STRAIT_SAME(kIpcLazyPeerAccess, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
STRAIT_SAME(kWaitValueGeq, CU_STREAM_WAIT_VALUE_GEQ);
STRAIT_SAME(kWaitValueEq, CU_STREAM_WAIT_VALUE_EQ);
STRAIT_SAME(kWaitValueAnd, CU_STREAM_WAIT_VALUE_AND);
STRAIT_SAME(kWaitValueNor, CU_STREAM_WAIT_VALUE_NOR);
STRAIT_SAME(kUserObjectNoDestructorSync, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
STRAIT_SAME(kGraphUserObjectMove, CU_GRAPH_USER_OBJECT_MOVE);
STRAIT_SAME(kCaptureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
STRAIT_SAME(kCaptureInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
STRAIT_SAME(kCaptureGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL);
STRAIT_SAME(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
STRAIT_SAME(kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
STRAIT_SAME(kHandleFileDescriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
STRAIT_SAME(kHandleFabric, CU_MEM_HANDLE_TYPE_FABRIC);
STRAIT_SAME(kAllocationPinned, CU_MEM_ALLOCATION_TYPE_PINNED);
STRAIT_SAME(kLocationDevice, CU_MEM_LOCATION_TYPE_DEVICE);
STRAIT_SAME(kAccessReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
STRAIT_SAME(kGranularityRecommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
STRAIT_SAME(kRangeDmaBuf, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
STRAIT_SAME(kLaunchCooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
STRAIT_SAME(kLaunchClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
STRAIT_SAME(kLaunchPriority, CU_LAUNCH_ATTRIBUTE_PRIORITY);
STRAIT_SAME(kLaunchMemSyncDomain, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
#undef STRAIT_SAME

#define STRAIT_SAME_MEMBER(Ours, ours, Theirs, theirs)                    \
  static_assert(offsetof(Ours, ours) == offsetof(Theirs, theirs), #ours); \
  static_assert(sizeof(Ours::ours) == sizeof(Theirs::theirs), #ours)
static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp));
STRAIT_SAME_MEMBER(AllocationProperties, requested_handles, CUmemAllocationProp,
                   requestedHandleTypes);
STRAIT_SAME_MEMBER(AllocationProperties, location, CUmemAllocationProp, location);
STRAIT_SAME_MEMBER(AllocationProperties, rdma_capable, CUmemAllocationProp,
                   allocFlags.gpuDirectRDMACapable);
static_assert(sizeof(AccessDescription) == sizeof(CUmemAccessDesc));
STRAIT_SAME_MEMBER(AccessDescription, flags, CUmemAccessDesc, flags);
static_assert(sizeof(FabricHandle) == sizeof(CUmemFabricHandle));
static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle));
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
STRAIT_SAME_MEMBER(LaunchAttribute, value, CUlaunchAttribute, value);
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
STRAIT_SAME_MEMBER(LaunchConfig, shared_bytes, CUlaunchConfig, sharedMemBytes);
STRAIT_SAME_MEMBER(LaunchConfig, stream, CUlaunchConfig, hStream);
STRAIT_SAME_MEMBER(LaunchConfig, attributes, CUlaunchConfig, attrs);
STRAIT_SAME_MEMBER(LaunchConfig, attribute_count, CUlaunchConfig, numAttrs);
#undef STRAIT_SAME_MEMBER

TEST(Abi, StreamsThatNobodyCreatesHaveTheirNumbers) {
  EXPECT_EQ(legacy_stream(), CU_STREAM_LEGACY);
  EXPECT_EQ(per_thread_stream(), CU_STREAM_PER_THREAD);
}

}  // namespace
}  // namespace strait::cuda
#else
TEST(Abi, StreamsThatNobodyCreatesHaveTheirNumbers) {
  GTEST_SKIP() << "there is no cuda.h here";
}
#endif
