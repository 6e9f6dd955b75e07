// Which NCCL a running process really has, by what it has mapped. MappedNccl looks at each file
// once, however many processes map it; one thread. A look costs reading /proc/PID/maps, and for
// each file that is new what read_elf costs.
#pragma once

#include <sys/types.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "tools/strait/elf_file.hpp"

namespace strait::tool {

struct NcclOfProcess {
  bool ours = false;
  std::vector<std::string> foreign;  // other libnccl
  std::vector<std::string> inside;   // files that have NCCL linked statically

  bool clean() const { return foreign.empty() && inside.empty(); }
  // Not clean: what is wrong and what to do, in the second half of a sentence about the process.
  std::string complaint(const std::string& our_library) const;
};

class MappedNccl {
 public:
  explicit MappedNccl(std::string our_library) : our_library_(std::move(our_library)) {}

  // Nothing is found in a process that has ended or may not be looked at.
  NcclOfProcess look(pid_t pid);
  const std::string& our_library() const { return our_library_; }

 private:
  Nccl kind_of(const std::string& path);

  std::string our_library_;  // without symbolic links, as the kernel shows it
  std::unordered_map<std::string, Nccl> known_;
};

}  // namespace strait::tool
