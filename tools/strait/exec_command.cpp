#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>

#include "tools/strait/command.hpp"
#include "tools/strait/elf_file.hpp"
#include "tools/strait/preload.hpp"
#include "tools/strait/program_file.hpp"
#include "tools/strait/watcher.hpp"

namespace strait::tool {
namespace {

namespace fs = std::filesystem;

// As shells and env have them.
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

struct ExecFlags {
  std::string library;
  bool redirect = true;
  bool strict = false;
  bool verbose = false;
};

constexpr const char* kLibrary = "libnccl.so.2";
constexpr const char* kLoaderModule = "strait_one_nccl.so";

// Where building and installing put it, seen from this program.
Result<std::string> file_beside_us(const char* name) {
  std::error_code failure;
  const fs::path here = fs::read_symlink("/proc/self/exe", failure).parent_path();
  for (const char* const folder : {"../lib", "../" STRAIT_LIBRARY_FOLDER}) {
    const fs::path beside = fs::canonical(here / folder, failure) / name;
    if (!failure && fs::exists(beside, failure)) return beside.string();
  }
  return error(Code::kInvalidArgument, "{} has no ../lib/{}; build it, or install it there",
               here.string(), name);
}

Result<std::string> library_named(const std::string& name) {
  std::error_code failure;
  const fs::path folder = fs::canonical(fs::absolute(name).parent_path(), failure);
  const std::string path = folder / fs::path(name).filename();
  const std::optional<ElfFile> elf = read_elf(path);
  if (failure || !elf || elf->nccl != Nccl::kLibrary)
    return error(Code::kInvalidArgument, "--library {}: give a libnccl.so.2", name);
  return path;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Before that version, a loader with a module resolves every call of the program anew.
bool loader_takes_modules() {
  const std::string_view version = gnu_get_libc_version();
  const size_t dot = version.find('.');
  int minor = 0;
  if (dot != version.npos)
    std::from_chars(version.data() + dot + 1, version.data() + version.size(), minor);
  return version.starts_with("2.") && minor >= 35;
}

Result<Replacement> replacement_of(const ExecFlags& flags) {
  Replacement replacement;
  STRAIT_ASSIGN(replacement.library,
                flags.library.empty() ? file_beside_us(kLibrary) : library_named(flags.library));
  STRAIT_TRY(check_listable(replacement.library));
  if (!flags.redirect || !loader_takes_modules()) return replacement;
  STRAIT_ASSIGN(replacement.loader_module, file_beside_us(kLoaderModule));
  STRAIT_TRY(check_listable(replacement.loader_module));
  return replacement;
}

Ending refuse(const Status& why) {
  return {why, why.code() == Code::kInvalidUsage ? kCannotRun : kNotFound};
}

// Returns only when the program cannot be started.
Ending become(const std::string& program, char** command, const Replacement& replacement,
              const ExecFlags& flags) {
  std::error_code failure;
  const WatchOrder order{.library = fs::canonical(replacement.library, failure).string(),
                         .strict = flags.strict,
                         .verbose = flags.verbose};
  const auto watcher = start_watcher(order);
  if (!watcher.ok()) return watcher.status();
  std::vector<std::string> before;
  for (char** entry = environ; *entry != nullptr; ++entry) before.emplace_back(*entry);
  std::vector<std::string> environment = environment_with(replacement, before);
  execvpe(program.c_str(), command, pointers_to(environment).data());
  return {error(Code::kInvalidUsage, "{} cannot be run: {}; give a program", program,
                std::strerror(errno)),
          kCannotRun};
}

Ending run(char** command, const ExecFlags& flags) {
  if (*command == nullptr)
    return error(Code::kInvalidArgument,
                 "no program to run; give it after --, as strait exec -- python train.py");
  const auto replacement = replacement_of(flags);
  if (!replacement.ok()) return replacement.status();
  const auto program = find_program(*command);
  if (!program.ok()) return refuse(program.status());
  const auto files = files_run_by(*program);
  if (!files.ok()) return refuse(files.status());
  for (const std::string& file : *files)
    if (const Status replaceable = check_replaceable(file); !replaceable.ok())
      return refuse(replaceable);
  return become(*program, command, *replacement, flags);
}

}  // namespace

void add_exec(CLI::App& app, Task& task, char** command) {
  CLI::App* exec =
      app.add_subcommand("exec", "run the program after -- with this library in place of NCCL");
  auto flags = std::make_shared<ExecFlags>();
  exec->add_option("--library", flags->library, "the libnccl.so.2 to use; else the one built here");
  exec->add_flag("!--no-redirect", flags->redirect,
                 "leave alone what the program loads by its path");
  exec->add_flag("--strict", flags->strict, "end the program when it has another NCCL too");
  exec->add_flag("--verbose", flags->verbose, "tell also when all is well");
  exec->footer(
      "The program keeps its process, files and exit code. While it runs, it and its descendants\n"
      "are watched: who has another NCCL, or two, is told on standard error. Exit codes of our "
      "own:\n"
      "126 it cannot be run with another NCCL, 127 there is no such program, 2 bad input.\n"
      "  strait exec -- torchrun --nproc-per-node 8 train.py");
  exec->callback([=, &task] { task = [=] { return run(command, *flags); }; });
}

}  // namespace strait::tool
