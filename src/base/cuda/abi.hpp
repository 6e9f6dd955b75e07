// The driver's types as its entry points take them: handles, codes and structures. Our own words,
// so that the library builds without a CUDA Toolkit; where there is one, a test holds each of them
// against cuda.h. Values only, any thread, no cost. Numbers are the driver's and never change.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUuserObject_st;

namespace strait::cuda {

using ContextHandle = CUctx_st*;
using StreamHandle = CUstream_st*;
using EventHandle = CUevent_st*;
using ModuleHandle = CUmod_st*;
using FunctionHandle = CUfunc_st*;
using GraphHandle = CUgraph_st*;
using GraphNodeHandle = CUgraphNode_st*;
using UserObjectHandle = CUuserObject_st*;
using DevicePointer = unsigned long long;
using AllocationHandle = unsigned long long;
using HostFunction = void (*)(void* argument);

// Streams that nobody creates. NULL is the legacy stream too.
inline StreamHandle legacy_stream() {
  return reinterpret_cast<StreamHandle>(uintptr_t{1});
}
inline StreamHandle per_thread_stream() {
  return reinterpret_cast<StreamHandle>(uintptr_t{2});
}

// What every entry point returns.
enum ResultCode : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kCallRequiresNewerDriver = 36,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kMapFailed = 205,
  kAlreadyMapped = 208,
  kNoBinaryForGpu = 209,
  kNotMapped = 211,
  kPeerAccessUnsupported = 217,
  kUnsupportedPtxVersion = 222,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kContextIsDestroyed = 709,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kLaunchFailed = 719,
  kCooperativeLaunchTooLarge = 720,
  kNotPermitted = 800,
  kNotSupported = 801,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
  kStreamCaptureMerge = 902,
  kStreamCaptureUnmatched = 903,
  kStreamCaptureUnjoined = 904,
  kStreamCaptureIsolation = 905,
  kStreamCaptureImplicit = 906,
  kCapturedEvent = 907,
  kStreamCaptureWrongThread = 908,
  kUnknown = 999,
};

enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMultiprocessors = 16,
  kUnifiedAddressing = 41,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kCooperativeLaunch = 95,
  kSharedBytesPerBlockOptIn = 97,
  kVirtualMemory = 102,
  kPosixHandles = 103,
  kRdmaWithVirtualMemory = 110,
  kGpuDirectRdma = 116,
  kRdmaWritesOrdering = 118,
  kDmaBuf = 124,
  kFabricHandles = 128,
};

enum PeerAttribute : int {
  kPeerPerformanceRank = 1,
  kPeerAccessSupported = 2,
  kPeerNativeAtomics = 3,
};

enum PointerAttribute : int {
  kPointerContext = 1,
  kPointerMemoryType = 2,
  kPointerDevicePointer = 3,
  kPointerHostPointer = 4,
  kPointerSyncMemops = 6,
  kPointerBufferId = 7,
  kPointerIsManaged = 8,
  kPointerDeviceOrdinal = 9,
  kPointerIsLegacyIpcCapable = 10,
  kPointerRangeStart = 11,
  kPointerRangeBytes = 12,
  kPointerMapped = 13,
  kPointerAllowedHandleTypes = 14,
};

enum MemoryType : int { kMemoryHost = 1, kMemoryDevice = 2 };

enum FunctionAttribute : int {
  kFunctionMaxThreads = 0,
  kFunctionSharedBytes = 1,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionMaxDynamicSharedBytes = 8,
};

// Flags.
inline constexpr unsigned kHostPortable = 1;
inline constexpr unsigned kHostDeviceMap = 2;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kEventRecordExternal = 1;
inline constexpr unsigned kEventWaitExternal = 1;
inline constexpr unsigned kIpcLazyPeerAccess = 1;
inline constexpr unsigned kWaitValueGeq = 0;
inline constexpr unsigned kWaitValueEq = 1;
inline constexpr unsigned kWaitValueAnd = 2;
inline constexpr unsigned kWaitValueNor = 3;
inline constexpr unsigned kUserObjectNoDestructorSync = 1;
inline constexpr unsigned kGraphUserObjectMove = 1;

enum CaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };
enum CaptureMode : int { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };

// How an allocation may be handed to another process; flags.
enum HandleType : int { kHandleNone = 0, kHandleFileDescriptor = 1, kHandleFabric = 8 };
enum AllocationType : int { kAllocationPinned = 1 };
enum LocationType : int { kLocationDevice = 1 };
enum AccessFlags : int { kAccessNone = 0, kAccessRead = 1, kAccessReadWrite = 3 };
enum GranularityOption : int { kGranularityMinimum = 0, kGranularityRecommended = 1 };
// From which on a NIC's writes are seen by this GPU in their order.
inline constexpr int kRdmaWritesOrderedForOwner = 100;

enum RangeHandleType : int { kRangeDmaBuf = 1 };

struct Location {
  LocationType type;
  int id;
};

struct AllocationProperties {
  AllocationType type;
  HandleType requested_handles;
  Location location;
  void* win32_metadata;
  unsigned char compression;
  unsigned char rdma_capable;
  unsigned short usage;
  unsigned char reserved[4];
};

struct AccessDescription {
  Location location;
  AccessFlags flags;
};

inline constexpr size_t kHandleBytes = 64;
struct FabricHandle {
  unsigned char data[kHandleBytes];
};
struct IpcHandle {
  char data[kHandleBytes];
};
struct Uuid {
  unsigned char bytes[16];
};

enum LaunchAttributeId : int {
  kLaunchCooperative = 2,
  kLaunchClusterDimension = 4,
  kLaunchPriority = 8,
  kLaunchMemSyncDomain = 10,
};

union LaunchAttributeValue {
  char pad[64];
  int cooperative;
  unsigned cluster[3];
  int priority;
  int mem_sync_domain;
};

struct LaunchAttribute {
  LaunchAttributeId id;
  char pad[4];
  LaunchAttributeValue value;
};

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

}  // namespace strait::cuda
