// Windows and one-sided calls: the arguments are checked against what the peer has registered, then
// the call goes to the thread's group.

#include <map>
#include <mutex>

#include "api/export.hpp"
#include "api/handle.hpp"
#include "api/making.hpp"
#include "api/result.hpp"
#include "comm/group.hpp"
#include "comm/open_window.hpp"
#include "nccl.h"

namespace strait::api {
namespace {

constexpr int kKnownFlags =
    NCCL_WIN_COLL_SYMMETRIC | NCCL_WIN_STRICT_ORDERING | NCCL_WIN_GIN_ONLY | NCCL_WIN_CFT_COUNTED;

// What an ncclWindow_t stands for; it is a number that is never given twice and no address.
struct Window {
  ncclComm_t comm = nullptr;
  uint32_t number = 0;  // as the ranks know it
  void* buffer = nullptr;
};

struct Windows {
  std::mutex mutex;
  uintptr_t last = uintptr_t{0x5759} << (8 * sizeof(uintptr_t) - 16);  // beyond all addresses
  std::map<ncclWindow_t, Window> all;
};

Windows& windows() {
  static Windows table;
  return table;
}

Result<Window> find(ncclComm_t comm, ncclWindow_t name) {
  std::lock_guard lock(windows().mutex);
  const auto found = windows().all.find(name);
  if (found == windows().all.end() || found->second.comm != comm)
    return error(Code::kInvalidArgument,
                 "{} is no window of this communicator: it was deregistered, or never registered",
                 static_cast<void*>(name));
  return found->second;
}

Status check_window(const void* buffer, size_t bytes, const ncclWindow_t* out, int flags) {
  if (out == nullptr) return error(Code::kInvalidArgument, "win is NULL: give it a place to go");
  if (buffer == nullptr || bytes == 0)
    return error(Code::kInvalidArgument, "buff is {} and size {}: register memory that exists",
                 buffer, bytes);
  if (reinterpret_cast<uintptr_t>(buffer) % NCCL_WIN_REQUIRED_ALIGNMENT != 0)
    return error(Code::kInvalidArgument,
                 "buff {} is not aligned to {} bytes: allocate it with ncclMemAlloc", buffer,
                 NCCL_WIN_REQUIRED_ALIGNMENT);
  if ((flags & ~kKnownFlags) != 0)
    return error(Code::kInvalidArgument, "winFlags {:#x} has bits that are no window flags", flags);
  return Status();
}

// Collective. A rank whose arguments are wrong takes part all the same, so that its peers learn it.
Status register_window(ncclComm_t comm, void* buffer, size_t bytes, ncclWindow_t* out, int flags) {
  STRAIT_ASSIGN(const auto handle, find_handle(comm));
  STRAIT_TRY(check_usable(*handle));
  const Status wrong = check_window(buffer, bytes, out, flags);
  if (out != nullptr) *out = nullptr;
  Making making;
  making.first = false;
  making.in_turn = handle->comm.get();
  if (!handle->progress->blocking()) making.background = handle->progress;
  making.run = [made = handle->comm, comm, buffer, bytes, out, wrong]() -> Status {
    STRAIT_ASSIGN(const uint32_t number,
                  open_window(*made, static_cast<std::byte*>(buffer), bytes, wrong));
    if (number == 0) return Status();  // as NCCL where it cannot share the memory: no error
    std::lock_guard lock(windows().mutex);
    auto* const name = reinterpret_cast<ncclWindow_t>(++windows().last);
    windows().all[name] = {.comm = comm, .number = number, .buffer = buffer};
    *out = name;
    return Status();
  };
  making.give_up = [](const Status&) {};
  return Group::current().submit(std::move(making));
}

Status deregister_window(ncclComm_t comm, ncclWindow_t name) {
  STRAIT_ASSIGN(const auto handle, find_any_handle(comm));
  if (name == nullptr) return Status();
  STRAIT_ASSIGN(const Window window, find(comm, name));
  if (const auto made = handle->made()) close_window(*made, window.number);
  std::lock_guard lock(windows().mutex);
  windows().all.erase(name);
  return Status();
}

Status get_user_pointer(ncclComm_t comm, ncclWindow_t name, void** out) {
  STRAIT_ASSIGN(const auto handle, find_any_handle(comm));
  if (out == nullptr)
    return error(Code::kInvalidArgument, "outUserPtr is NULL: give it a place to go");
  STRAIT_ASSIGN(const Window window, find(comm, name));
  *out = window.buffer;
  return Status();
}

Status check_signal(const Communicator& comm, const SignalName& name) {
  if (name.peer < 0 || name.peer >= comm.rank_count())
    return error(Code::kInvalidArgument, "peer {} is not among the {} ranks (0 to {})", name.peer,
                 comm.rank_count(), comm.rank_count() - 1);
  const auto rma = comm.rma();
  if (rma == nullptr)
    return error(Code::kInvalidUsage,
                 "no window was registered: register one first, or make the communicator with "
                 "rmaEagerInit 1 (NCCL_RMA_EAGER_INIT=1)");
  const SignalShape& known = rma->signals();
  if (name.context < 0 || name.context >= known.contexts)
    return error(Code::kInvalidArgument,
                 "ctx {} is not among the {} contexts: make the communicator with a higher "
                 "numRmaCtx",
                 name.context, known.contexts);
  if (name.index < 0 || name.index >= known.signals)
    return error(Code::kInvalidArgument,
                 "sigIdx {} is not among the {} signals: make the communicator with a higher "
                 "numRmaSig",
                 name.index, known.signals);
  return Status();
}

Status check_flags(unsigned flags) {
  if (flags == 0) return Status();
  return error(Code::kInvalidArgument, "flags is {:#x}: it must be 0", flags);
}

// What is wrong with a call inside a group makes the group fail.
template <class Check>
Status submit_call(ncclComm_t comm, cudaStream_t stream, Check&& check) {
  Group& group = Group::current();
  const auto handle = find_handle(comm);
  if (!handle.ok()) return group.refuse(handle.status());
  if (const Status usable = check_usable(**handle); !usable.ok()) return group.refuse(usable);
  Result<RmaCall> call = check(*(*handle)->comm);
  if (!call.ok())
    return group.refuse(call.status().at(fmt::format("rank {}", (*handle)->comm->rank())));
  const Status reached = (*handle)->comm->check_one_sided(*call, stream);
  if (!reached.ok()) return group.refuse(reached);
  return group.submit((*handle)->comm, std::move(*call), stream);
}

struct Put {
  const void* source;
  size_t count;
  ncclDataType_t type;
  ncclWindow_t window;
  size_t offset;
};

Result<RmaCall> check_put(const Communicator& comm, ncclComm_t name, const Put& put,
                          const SignalName& to, unsigned flags) {
  if (put.type < 0 || put.type >= ncclNumTypes)
    return error(Code::kInvalidArgument, "data type {} is none of NCCL's (0 to {})",
                 static_cast<int>(put.type), ncclNumTypes - 1);
  STRAIT_TRY(check_flags(flags));
  STRAIT_TRY(check_signal(comm, to));
  STRAIT_ASSIGN(const Window window, find(name, put.window));
  const size_t element_bytes = size_of(static_cast<DataType>(put.type));
  const uint64_t room = comm.rma()->windows().peer(window.number, to.peer).bytes;
  if (put.offset > room || put.count > (room - put.offset) / element_bytes)
    return error(Code::kInvalidArgument,
                 "{} elements of {} bytes at offset {} leave the window of rank {}, which has {} "
                 "bytes",
                 put.count, element_bytes, put.offset, to.peer, room);
  if (put.source == nullptr && put.count > 0)
    return error(Code::kInvalidArgument, "localbuff is NULL but {} elements are needed there",
                 put.count);
  return RmaCall{.source = static_cast<const std::byte*>(put.source),
                 .bytes = put.count * element_bytes,
                 .window = window.number,
                 .offset = put.offset,
                 .to = to,
                 .waits = {}};
}

Result<RmaCall> check_waits(const Communicator& comm, int count,
                            const ncclWaitSignalDesc_t* waits) {
  if (count <= 0 || waits == nullptr)
    return error(Code::kInvalidArgument, "nDesc is {} and signalDescs {}: name at least one signal",
                 count, static_cast<const void*>(waits));
  RmaCall call;
  for (int i = 0; i < count; ++i) {
    const SignalName name{.peer = waits[i].peer, .context = waits[i].ctx, .index = waits[i].sigIdx};
    STRAIT_TRY(check_signal(comm, name).at(fmt::format("signalDescs[{}]", i)));
    if (waits[i].opCnt <= 0)
      return error(Code::kInvalidArgument, "signalDescs[{}].opCnt is {}: it must be 1 or more", i,
                   waits[i].opCnt);
    call.waits.push_back({.signal = name, .count = static_cast<uint64_t>(waits[i].opCnt)});
  }
  return call;
}

}  // namespace
}  // namespace strait::api

using strait::SignalName;
using strait::api::guarded;

STRAIT_API(ncclResult_t, CommWindowRegister,
           (ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win, int winFlags)) {
  return guarded("ncclCommWindowRegister", [&] {
    return strait::api::refuse_in_group(
        strait::api::register_window(comm, buff, size, win, winFlags));
  });
}

STRAIT_API(ncclResult_t, CommWindowDeregister, (ncclComm_t comm, ncclWindow_t win)) {
  return guarded("ncclCommWindowDeregister",
                 [&] { return strait::api::deregister_window(comm, win); });
}

STRAIT_API(ncclResult_t, WinGetUserPtr, (ncclComm_t comm, ncclWindow_t win, void** outUserPtr)) {
  return guarded("ncclWinGetUserPtr",
                 [&] { return strait::api::get_user_pointer(comm, win, outUserPtr); });
}

STRAIT_API(ncclResult_t, PutSignal,
           (const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
            ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx, unsigned int flags,
            ncclComm_t comm, cudaStream_t stream)) {
  return guarded("ncclPutSignal", [&] {
    return strait::api::submit_call(comm, stream, [&](const strait::Communicator& made) {
      return strait::api::check_put(made, comm,
                                    {localbuff, count, datatype, peerWin, peerWinOffset},
                                    {.peer = peer, .context = ctx, .index = sigIdx}, flags);
    });
  });
}

STRAIT_API(ncclResult_t, Signal,
           (int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
            cudaStream_t stream)) {
  return guarded("ncclSignal", [&] {
    return strait::api::submit_call(
        comm, stream, [&](const strait::Communicator& made) -> strait::Result<strait::RmaCall> {
          const SignalName to{.peer = peer, .context = ctx, .index = sigIdx};
          STRAIT_TRY(strait::api::check_flags(flags));
          STRAIT_TRY(strait::api::check_signal(made, to));
          strait::RmaCall call;
          call.to = to;
          return call;
        });
  });
}

STRAIT_API(ncclResult_t, WaitSignal,
           (int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm, cudaStream_t stream)) {
  return guarded("ncclWaitSignal", [&] {
    return strait::api::submit_call(comm, stream, [&](const strait::Communicator& made) {
      return strait::api::check_waits(made, nDesc, signalDescs);
    });
  });
}
