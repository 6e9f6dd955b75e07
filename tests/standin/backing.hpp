// Backing: the memory of one allocation of one GPU, as a memfd that other processes can map too. It
// counts against its device while the process that made it, or an import, keeps it. Guarded by the
// machine's lock.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "base/fd.hpp"
#include "standin/calls.hpp"

namespace strait::standin {

struct Backing {
  UniqueFd fd;
  size_t bytes = 0;
  int device = 0;
  int handle_types = 0;  // that it may be exported as
  bool counted = false;  // made here, so it uses up its device
  ~Backing();
};
using BackingRef = std::shared_ptr<Backing>;

// Null where the device has no more room.
BackingRef make_backing(int device, size_t bytes, int handle_types);
// What an exported descriptor stands for; null where it is none of ours.
BackingRef backing_of(UniqueFd fd);

// A handle of 64 bytes by which another process finds the memory: by the descriptor of the process
// that exported it, as long as that lives and keeps it.
enum class HandleKind : unsigned { kIpc = 0x49706331, kFabric = 0x46616231 };
void write_handle(const Backing& backing, HandleKind kind, void* handle);
BackingRef read_handle(const void* handle, HandleKind kind);
// The process that wrote it; 0 where it is no handle of that kind.
int process_of_handle(const void* handle, HandleKind kind);

// Maps it at that address (somewhere when null), or takes the mapping away and keeps the address.
void* map_backing(const Backing& backing, size_t offset, size_t bytes, void* address);
void hide(void* address, size_t bytes);

}  // namespace strait::standin
