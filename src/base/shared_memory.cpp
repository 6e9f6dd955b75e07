#include "base/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/memory_room.hpp"

namespace strait {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Status allocate(int fd, size_t bytes, const std::string& purpose) {
  int failed = 0;
  do {
    failed = fallocate(fd, 0, 0, static_cast<off_t>(bytes));
  } while (failed != 0 && errno == EINTR);
  if (failed == 0) return Status();
  if (errno == ENOSPC || errno == ENOMEM)
    return fits(MemoryRoom{.machine_bytes = 0, .cgroup_bytes = {}}, bytes, purpose);
  return system_error(purpose + ": fallocate of shared memory");
}

}  // namespace

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  fd_ = std::move(other.fd_);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

Result<SharedMemory> SharedMemory::create(const std::string& purpose, size_t bytes) {
  STRAIT_CHECK(bytes > 0, "shared memory has at least one byte");
  STRAIT_TRY(fits(memory_room(), bytes, purpose));
  UniqueFd fd(
      memfd_create(("strait " + purpose).substr(0, 200).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return system_error(purpose + ": memfd_create");
  STRAIT_TRY(allocate(fd.get(), bytes, purpose));
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0)
    return system_error(purpose + ": sealing shared memory");
  return map(std::move(fd), bytes);
}

Result<SharedMemory> SharedMemory::map(UniqueFd fd, size_t bytes) {
  struct stat file {};
  if (fstat(fd.get(), &file) != 0) return system_error("shared memory: fstat");
  if (bytes == 0 || static_cast<uint64_t>(file.st_size) < bytes)
    return error(
        Code::kSystemError,
        "shared memory has {} bytes where {} are expected; do all ranks run the same version?",
        file.st_size, bytes);
  if ((fcntl(fd.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0)
    return error(Code::kSystemError,
                 "shared memory may shrink under its users; make it with SharedMemory::create");
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED)
    return system_error(fmt::format("mapping {} bytes of shared memory", bytes));
  SharedMemory memory;
  memory.fd_ = std::move(fd);
  memory.data_ = static_cast<std::byte*>(data);
  memory.bytes_ = bytes;
  return memory;
}

Result<SharedMemory> SharedMemory::map_all(UniqueFd fd) {
  struct stat file {};
  if (fstat(fd.get(), &file) != 0) return system_error("shared memory: fstat");
  return map(std::move(fd), static_cast<size_t>(file.st_size));
}

Result<UniqueFd> SharedMemory::duplicate_fd() const {
  UniqueFd copy(fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return system_error("duplicating the descriptor of shared memory");
  return copy;
}

void SharedMemory::drop_pages() {
  // Where the kernel will not, the pages go with their last mapping.
  (void)fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  static_cast<off_t>(bytes_));
}

void SharedMemory::unmap() {
  if (data_ != nullptr) munmap(data_, bytes_);
  data_ = nullptr;
}

}  // namespace strait
