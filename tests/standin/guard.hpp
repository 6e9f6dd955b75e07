// Guard: with STRAIT_STANDIN_GUARD=1 device memory has no access rights while nothing runs on any
// device of this process, so that a host that reads or writes it by a device pointer is stopped by
// SIGSEGV, as it would be with a GPU. It cannot tell who reads while something runs. Any thread;
// costs a system call per allocation whenever the devices start or fall idle, else nothing.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace strait::standin {

class Guard {
 public:
  explicit Guard(bool on) : on_(on) {}
  void add(void* address, size_t bytes);
  void remove(void* address);
  // Until something has run on a device: a NIC's driver takes hold of the pages by their address.
  void open(const void* within);

  // While it lives, something runs on a device.
  class Running {
   public:
    Running();
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
  };

 private:
  void protect_all(int rights);

  const bool on_;
  std::mutex mutex_;
  std::map<void*, size_t> ranges_;
  int running_ = 0;
};

Guard& guard();

}  // namespace strait::standin
