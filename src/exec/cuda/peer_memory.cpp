#include "exec/cuda/peer_memory.hpp"

#include <array>
#include <cstring>

#include "base/cuda/device.hpp"

namespace strait {
namespace {

// A handle as the bytes of a note.
template <class Handle>
std::span<const std::byte> bytes_of(const Handle& handle) {
  static_assert(sizeof(Handle) <= net::kNoteBytesMax);
  return std::as_bytes(std::span(&handle, 1));
}

template <class Handle>
Result<Handle> ask_handle(const PeerShelves& shelves, int peer, const std::string& name,
                          Deadline deadline, const std::function<Status()>& stopped) {
  STRAIT_ASSIGN(const auto bytes, net::ask_note({.board = shelves.boards[static_cast<size_t>(peer)],
                                                 .key = shelves.comm_key,
                                                 .rank = peer,
                                                 .from = shelves.rank,
                                                 .name = name},
                                                shelves.secret, deadline, stopped));
  if (bytes.size() != sizeof(Handle))
    return error(Code::kRemoteError,
                 "rank {} shares its GPU's memory in another way than asked for", peer);
  Handle handle;
  std::memcpy(&handle, bytes.data(), sizeof handle);
  return handle;
}

Result<cuda::PhysicalMemory> import(const PeerPlace& place, const PeerShelves& shelves, int peer,
                                    PeerWay way, const std::string& name, size_t bytes,
                                    Deadline deadline, const std::function<Status()>& stopped) {
  if (way == PeerWay::kFabricHandle) {
    STRAIT_ASSIGN(const auto handle,
                  ask_handle<cuda::FabricHandle>(shelves, peer, name, deadline, stopped));
    return cuda::PhysicalMemory::import_from(*place.driver, place.context, handle, bytes);
  }
  STRAIT_ASSIGN(const FetchedFd fetched,
                fetch_fd(shelves.exchanges[static_cast<size_t>(peer)], shelves.comm_key, peer, name,
                         shelves.secret, deadline, stopped));
  return cuda::PhysicalMemory::import_from(*place.driver, place.context, fetched.fd, bytes);
}

}  // namespace

Result<PeerWays> ways_of(const cuda::Driver& driver, cuda::ContextHandle context, int device) {
  STRAIT_ASSIGN(const cuda::DeviceFacts facts, cuda::device_facts(driver, device));
  if (!facts.virtual_memory) return bit_of(PeerWay::kIpcHandle);
  const cuda::PhysicalMemory::Wish wish = cuda::shareable(driver, context, facts);
  PeerWays ways = 0;
  if (wish.file_descriptor) ways |= bit_of(PeerWay::kFileDescriptor);
  if (wish.fabric) ways |= bit_of(PeerWay::kFabricHandle);
  return ways;
}

PeerWays ways_of(const cuda::PointerFacts& facts) {
  PeerWays ways = 0;
  if (facts.legacy_ipc) ways |= bit_of(PeerWay::kIpcHandle);
  if (facts.file_descriptor) ways |= bit_of(PeerWay::kFileDescriptor);
  if (facts.fabric) ways |= bit_of(PeerWay::kFabricHandle);
  return ways;
}

Result<PeerMemory> PeerMemory::make(const PeerPlace& place, size_t bytes) {
  PeerMemory made;
  if (has(place.ways, PeerWay::kIpcHandle)) {
    STRAIT_ASSIGN(made.plain_, cuda::DeviceMemory::allocate(*place.driver, place.context, bytes,
                                                            "a ring for peers"));
    return made;
  }
  STRAIT_ASSIGN(
      cuda::PhysicalMemory memory,
      cuda::PhysicalMemory::create(*place.driver, place.context, place.device,
                                   {.bytes = bytes,
                                    .file_descriptor = has(place.ways, PeerWay::kFileDescriptor),
                                    .fabric = has(place.ways, PeerWay::kFabricHandle)}));
  const std::array devices = {place.device};
  STRAIT_ASSIGN(made.mapped_, cuda::MappedMemory::map(std::move(memory), devices));
  return made;
}

Status PeerMemory::publish(const PeerPlace& place, const PeerShelves& shelves,
                           const std::string& name, FdUses uses) const {
  return publish(place, shelves, name, uses, place.ways,
                 {.physical = &mapped_.physical(), .plain = plain_.pointer()});
}

Status PeerMemory::publish_allocation(const PeerPlace& place, const PeerShelves& shelves,
                                      const std::string& name, const cuda::PointerFacts& facts) {
  const auto ways = static_cast<PeerWays>(ways_of(facts) & place.ways);
  Named memory{.physical = nullptr, .plain = facts.base};
  if (has(ways, PeerWay::kIpcHandle))
    return publish(place, shelves, name, FdUses::kMany, ways, memory);
  STRAIT_ASSIGN(const auto physical,
                cuda::PhysicalMemory::behind(*place.driver, place.context,
                                             reinterpret_cast<void*>(facts.base), facts.bytes));
  memory.physical = &physical;
  return publish(place, shelves, name, FdUses::kMany, ways, memory);
}

Status PeerMemory::publish(const PeerPlace& place, const PeerShelves& shelves,
                           const std::string& name, FdUses uses, PeerWays ways,
                           const Named& memory) {
  if (has(ways, PeerWay::kIpcHandle)) {
    STRAIT_ASSIGN(const cuda::IpcExport exported,
                  cuda::export_ipc(*place.driver, place.context, memory.plain));
    shelves.board->put(name, bytes_of(exported));
  }
  if (has(ways, PeerWay::kFabricHandle)) {
    STRAIT_ASSIGN(const cuda::FabricHandle handle, memory.physical->export_fabric());
    shelves.board->put(name, bytes_of(handle));
  }
  if (!has(ways, PeerWay::kFileDescriptor)) return Status();
  STRAIT_ASSIGN(UniqueFd fd, memory.physical->export_fd());
  return shelves.shelf->publish(name, std::move(fd), uses);
}

Result<PeerMemory> PeerMemory::fetch(const PeerPlace& place, const PeerShelves& shelves, int peer,
                                     PeerWay way, const std::string& name, size_t bytes,
                                     Deadline deadline, const std::function<Status()>& stopped) {
  PeerMemory found;
  if (way == PeerWay::kIpcHandle) {
    STRAIT_ASSIGN(const auto exported,
                  ask_handle<cuda::IpcExport>(shelves, peer, name, deadline, stopped));
    STRAIT_ASSIGN(found.opened_, cuda::IpcMemory::open(*place.driver, place.context, exported));
    return found;
  }
  STRAIT_ASSIGN(cuda::PhysicalMemory memory,
                import(place, shelves, peer, way, name, bytes, deadline, stopped));
  const std::array devices = {place.device};
  STRAIT_ASSIGN(found.mapped_, cuda::MappedMemory::map(std::move(memory), devices));
  return found;
}

cuda::DevicePointer PeerMemory::pointer() const {
  if (mapped_.bytes() > 0) return mapped_.pointer();
  return plain_.bytes() > 0 ? plain_.pointer() : opened_.pointer();
}

}  // namespace strait
