#include "tools/strait/program_file.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/strait/elf_file.hpp"

namespace strait::tool {
namespace {

constexpr size_t kScriptsMax = 5;  // of interpreters that are scripts themselves
constexpr std::streamsize kFirstLineMax = 256;

Status not_runnable(const std::string& command, const std::string& why) {
  return error(Code::kInvalidUsage, "{} cannot be run: {}; give a program", command, why);
}

// Ok: to be run. Its failure says whether there is something at all.
Status check_runnable(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return error(Code::kInvalidArgument, "there is no program {}; correct its name", path);
  if (!S_ISREG(status.st_mode)) return not_runnable(path, "it is no file");
  if (access(path.c_str(), X_OK) != 0) return not_runnable(path, std::strerror(errno));
  return {};
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// The words of a "#!" line; none where there is no such line.
std::vector<std::string> interpreter_line(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line(kFirstLineMax, '\0');
  file.read(line.data(), kFirstLineMax);
  line.resize(static_cast<size_t>(file.gcount()));
  if (!line.starts_with("#!")) return {};
  return words_of(line.substr(2, line.find('\n') - 2));
}

// What env starts: its first word that is neither an option nor a variable.
std::string started_by_env(const std::vector<std::string>& words) {
  for (size_t i = 1; i < words.size(); ++i)
    if (!words[i].starts_with('-') && words[i].find('=') == std::string::npos) return words[i];
  return "";
}

// Rights that the file gives to whoever runs it; the loader ignores LD_PRELOAD then.
bool gives_rights(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return false;
  const bool user = (status.st_mode & S_ISUID) != 0 && status.st_uid != getuid();
  const bool group = (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 &&
                     status.st_gid != getgid();
  const bool capable =
      getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  return user || group || capable;
}

}  // namespace

Result<std::string> find_program(const std::string& command) {
  if (command.find('/') != std::string::npos) {
    STRAIT_TRY(check_runnable(command));
    return command;
  }
  const char* const set = std::getenv("PATH");
  std::istringstream folders(set != nullptr ? set : "/bin:/usr/bin");
  Status refused =
      error(Code::kInvalidArgument,
            "no program \"{}\" on PATH; give its path, or add its folder to PATH", command);
  for (std::string folder; !command.empty() && std::getline(folders, folder, ':');) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + command;
    const Status status = check_runnable(path);
    if (status.ok()) return path;
    if (status.code() == Code::kInvalidUsage) refused = status;
  }
  return refused;
}

Result<std::vector<std::string>> files_run_by(const std::string& program) {
  std::vector<std::string> files = {program};
  for (size_t scripts = 0; scripts < kScriptsMax; ++scripts) {
    const std::vector<std::string> line = interpreter_line(files.back());
    if (line.empty()) return files;
    const Status there = check_runnable(line.front());
    if (!there.ok()) return there.at(files.back() + " names an interpreter");
    files.push_back(line.front());
    if (std::filesystem::path(line.front()).filename() != "env") continue;
    if (const std::string started = started_by_env(line); !started.empty()) {
      const auto found = find_program(started);
      if (!found.ok()) return found.status().at(program);
      files.push_back(*found);
    }
  }
  return error(Code::kInvalidUsage, "{} is a script of a script of a script; name its interpreter",
               program);
}

Status check_replaceable(const std::string& file) {
  const std::optional<ElfFile> elf = read_elf(file);
  if (!elf) return {};
  if (elf->nccl == Nccl::kInside)
    return error(Code::kInvalidUsage,
                 "{} has NCCL linked statically, where no other library can take its place; build "
                 "it against libnccl.so",
                 file);
  if (!elf->has_loader && !elf->soname.starts_with("ld"))
    return error(Code::kInvalidUsage,
                 "{} is linked statically, so no library can be put into it; if it starts another "
                 "program, put strait exec before that one",
                 file);
  if (gives_rights(file))
    return error(Code::kInvalidUsage,
                 "{} runs with the rights of another user, and the loader then ignores LD_PRELOAD; "
                 "become that user first",
                 file);
  return {};
}

}  // namespace strait::tool
