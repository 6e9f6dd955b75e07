// ElfFile: what a program or a library says of itself that matters when one library is to stand in
// for another: who loads it, under which name, and whether NCCL is inside. A value, read through
// libelf; any thread. Costs one pass over the names of its symbols and its read-only data, which is
// milliseconds for most and a tenth of a second for the largest.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace strait::tool {

enum class Nccl {
  kAbsent,
  kLibrary,  // the file is a libnccl
  kInside,   // linked statically into something else, where no other library reaches it
};

struct ElfFile {
  bool has_loader = false;  // a program without one is given no library at all
  std::string soname;
  Nccl nccl = Nccl::kAbsent;
};

// Nothing where the file cannot be read or is no ELF file.
std::optional<ElfFile> read_elf(const std::string& path);

// By its file name alone: libnccl.so, libnccl.so.2 and the like, but no libnccl-net.so.
bool is_libnccl_name(std::string_view path);

}  // namespace strait::tool
