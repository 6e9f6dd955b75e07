#include "standin/backing.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/check.hpp"
#include "standin/machine.hpp"

namespace strait::standin {
namespace {

struct HandleBytes {
  HandleKind kind;
  int process;
  int fd;
  unsigned clique;
  ino_t file;
  std::array<unsigned char, 16> cluster;
};
static_assert(sizeof(HandleBytes) <= kHandleBytes);

struct stat facts_of(int fd) {
  struct stat facts {};
  STRAIT_CHECK(fstat(fd, &facts) == 0, "an open descriptor has facts");
  return facts;
}

bool in_same_domain(const HandleBytes& handle) {
  const Fabric& mine = machine().settings.fabric;
  return mine.there && handle.cluster == mine.cluster && handle.clique == mine.clique;
}

}  // namespace

Backing::~Backing() {
  if (counted) machine().used_bytes[static_cast<size_t>(device)] -= bytes;
}

BackingRef make_backing(int device, size_t bytes, int handle_types) {
  uint64_t& used = machine().used_bytes[static_cast<size_t>(device)];
  if (bytes > machine().settings.memory_bytes - used) return nullptr;
  auto backing = std::make_shared<Backing>();
  // The name goes with the descriptor, so an importer learns device and kinds from it.
  const std::string name = fmt::format("standin-gpu {} {}", device, handle_types);
  backing->fd = UniqueFd(memfd_create(name.c_str(), MFD_CLOEXEC));
  STRAIT_CHECK(backing->fd && ftruncate(backing->fd.get(), static_cast<off_t>(bytes)) == 0,
               "a test machine has room for a memfd");
  backing->bytes = bytes;
  backing->device = device;
  backing->handle_types = handle_types;
  backing->counted = true;
  used += bytes;
  return backing;
}

BackingRef backing_of(UniqueFd fd) {
  std::array<char, 256> name{};
  const std::string path = fmt::format("/proc/self/fd/{}", fd.get());
  if (readlink(path.c_str(), name.data(), name.size() - 1) <= 0) return nullptr;
  auto backing = std::make_shared<Backing>();
  if (std::sscanf(name.data(), "/memfd:standin-gpu %d %d", &backing->device,
                  &backing->handle_types) != 2)
    return nullptr;
  backing->bytes = static_cast<size_t>(facts_of(fd.get()).st_size);
  backing->fd = std::move(fd);
  // Visible devices may differ between processes; an importer needs a number of its own.
  if (backing->device >= machine().settings.devices) backing->device = 0;
  return backing;
}

void write_handle(const Backing& backing, HandleKind kind, void* handle) {
  HandleBytes bytes{};
  bytes.kind = kind;
  bytes.process = getpid();
  bytes.fd = backing.fd.get();
  bytes.file = facts_of(backing.fd.get()).st_ino;
  bytes.cluster = machine().settings.fabric.cluster;
  bytes.clique = machine().settings.fabric.clique;
  std::memset(handle, 0, kHandleBytes);
  std::memcpy(handle, &bytes, sizeof bytes);
}

BackingRef read_handle(const void* handle, HandleKind kind) {
  HandleBytes bytes{};
  std::memcpy(&bytes, handle, sizeof bytes);
  if (bytes.kind != kind) return nullptr;
  if (kind == HandleKind::kFabric && !in_same_domain(bytes)) return nullptr;
  const std::string path = fmt::format("/proc/{}/fd/{}", bytes.process, bytes.fd);
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd || facts_of(fd.get()).st_ino != bytes.file) return nullptr;
  return backing_of(std::move(fd));
}

int process_of_handle(const void* handle, HandleKind kind) {
  HandleBytes bytes{};
  std::memcpy(&bytes, handle, sizeof bytes);
  return bytes.kind == kind ? bytes.process : 0;
}

void* map_backing(const Backing& backing, size_t offset, size_t bytes, void* address) {
  void* const mapped = mmap(address, bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | (address == nullptr ? 0 : MAP_FIXED), backing.fd.get(),
                            static_cast<off_t>(offset));
  STRAIT_CHECK(mapped != MAP_FAILED, "a test machine has addresses left");
  return mapped;
}

void hide(void* address, size_t bytes) {
  STRAIT_CHECK(
      mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED,
      "a mapping can be replaced");
}

}  // namespace strait::standin
