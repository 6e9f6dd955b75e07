// SharedMemory: the owner of a mapping that other processes can have too, by its file descriptor.
// It has no name in any file system (memfd), so a crash leaves nothing behind and the size of
// /dev/shm does not matter. All pages are there when create() returns and its size is sealed: an
// access can never raise SIGBUS. Movable, one owner; the bytes belong to whoever agrees on them.
// create() costs about a page fault per page, map() a system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/fd.hpp"
#include "base/status.hpp"

namespace strait {

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory() { unmap(); }

  // Zeroed memory of `bytes` bytes; `purpose` names it in errors and in /proc/<pid>/maps.
  static Result<SharedMemory> create(const std::string& purpose, size_t bytes);
  // Memory that another process (or another part of this one) made by create().
  static Result<SharedMemory> map(UniqueFd fd, size_t bytes);
  // The same, as much as there is.
  static Result<SharedMemory> map_all(UniqueFd fd);

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  int fd() const { return fd_.get(); }
  // A second descriptor of the same memory, for handing on.
  Result<UniqueFd> duplicate_fd() const;
  // Gives the pages back to the system, also where others have them mapped: they find zeros then.
  void drop_pages();
  // Gives the descriptor away; the mapping stays.
  UniqueFd take_fd() { return std::move(fd_); }

 private:
  void unmap();

  UniqueFd fd_;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace strait
