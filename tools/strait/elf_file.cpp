#include "tools/strait/elf_file.hpp"

#include <fcntl.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/fd.hpp"

namespace strait::tool {
namespace {

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};

struct Section {
  Elf_Scn* handle;
  GElf_Shdr header;
  std::string_view name;
};

template <class Visit>
void each_section(Elf* elf, Visit visit) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  for (Elf_Scn* at = elf_nextscn(elf, nullptr); at != nullptr; at = elf_nextscn(elf, at)) {
    Section section{.handle = at, .header = {}, .name = {}};
    if (gelf_getshdr(at, &section.header) == nullptr) continue;
    if (const char* name = elf_strptr(elf, names, section.header.sh_name)) section.name = name;
    visit(section);
  }
}

bool has_loader(Elf* elf) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return false;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) != nullptr && header.p_type == PT_INTERP)
      return true;
  }
  return false;
}

size_t entries_of(const Section& section) {
  return section.header.sh_entsize == 0 ? 0 : section.header.sh_size / section.header.sh_entsize;
}

std::string soname_of(Elf* elf, const Section& dynamic) {
  Elf_Data* const data = elf_getdata(dynamic.handle, nullptr);
  for (size_t i = 0; data != nullptr && i < entries_of(dynamic); ++i) {
    GElf_Dyn entry;
    if (gelf_getdyn(data, static_cast<int>(i), &entry) == nullptr || entry.d_tag != DT_SONAME)
      continue;
    const char* const name = elf_strptr(elf, dynamic.header.sh_link, entry.d_un.d_val);
    return name != nullptr ? name : "";
  }
  return "";
}

// The strong one of NCCL's two names: a profiler that stands before NCCL defines the weak one only.
bool defines_nccl(Elf* elf, const Section& symbols) {
  Elf_Data* const data = elf_getdata(symbols.handle, nullptr);
  for (size_t i = 0; data != nullptr && i < entries_of(symbols); ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr || symbol.st_shndx == SHN_UNDEF)
      continue;
    const char* const name = elf_strptr(elf, symbols.header.sh_link, symbol.st_name);
    if (name != nullptr && std::strcmp(name, "pncclAllReduce") == 0) return true;
  }
  return false;
}

// NCCL's own line, "NCCL version 2.28.9+cuda13.0". Others speak of "NCCL version 2.27.0 or later".
bool holds_version_line(std::string_view bytes) {
  constexpr std::string_view kOpening = "NCCL version 2.";
  constexpr size_t kLineMax = 40;
  while (const void* found = memmem(bytes.data(), bytes.size(), kOpening.data(), kOpening.size())) {
    bytes.remove_prefix(static_cast<size_t>(static_cast<const char*>(found) - bytes.data()));
    const std::string_view line = bytes.substr(0, kLineMax);
    if (line.substr(0, line.find_first_of(" \n\0", kOpening.size())).find("+cuda") != line.npos)
      return true;
    bytes.remove_prefix(kOpening.size());
  }
  return false;
}

bool is_read_only_data(const Section& section) {
  return section.header.sh_type == SHT_PROGBITS &&
         (section.name.starts_with(".rodata") || section.name.starts_with(".lrodata"));
}

bool holds_version_line(const Section& section) {
  const Elf_Data* const data = elf_rawdata(section.handle, nullptr);
  return data != nullptr && data->d_buf != nullptr &&
         holds_version_line({static_cast<const char*>(data->d_buf), data->d_size});
}

bool holds_nccl(Elf* elf) {
  bool found = false;
  for (const GElf_Word type : {SHT_DYNSYM, SHT_SYMTAB})
    each_section(elf, [&](const Section& section) {
      found = found || (section.header.sh_type == type && defines_nccl(elf, section));
    });
  each_section(elf, [&](const Section& section) {
    found = found || (is_read_only_data(section) && holds_version_line(section));
  });
  return found;
}

}  // namespace

bool is_libnccl_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1).starts_with("libnccl.so");
}

std::optional<ElfFile> read_elf(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file || elf_version(EV_CURRENT) == EV_NONE) return std::nullopt;
  const std::unique_ptr<Elf, ElfEnd> elf(elf_begin(file.get(), ELF_C_READ_MMAP, nullptr));
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF) return std::nullopt;
  ElfFile read;
  read.has_loader = has_loader(elf.get());
  each_section(elf.get(), [&](const Section& section) {
    if (section.header.sh_type == SHT_DYNAMIC) read.soname = soname_of(elf.get(), section);
  });
  if (is_libnccl_name(read.soname) || (read.soname.empty() && is_libnccl_name(path)))
    read.nccl = Nccl::kLibrary;
  else if (holds_nccl(elf.get()))
    read.nccl = Nccl::kInside;
  return read;
}

}  // namespace strait::tool
