// Runs shell text for a test and keeps what it printed. It has a time limit of its own, so that a
// hang is a failure and not a wait. Any thread; costs the start of two programs.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/fd.hpp"

extern char** environ;

namespace strait::perf {

struct Finished {
  int exit_code = -1;  // 124: it ran past its limit
  std::string output;  // standard output and standard error
};

// "all_reduce" -> the path of all_reduce_perf.
inline std::string program(const std::string& name) {
  return STRAIT_BINARY_DIR "/bin/" + name + "_perf";
}
inline const std::string kProgram = program("all_reduce");

inline Finished run_command(const std::string& text, int limit_s = 60) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
  const std::string limit = std::to_string(limit_s);
  const std::array<const char*, 8> arguments = {"timeout", "-k", "5",          limit.c_str(),
                                                "sh",      "-c", text.c_str(), nullptr};
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, "timeout", &actions, nullptr,
                                     const_cast<char* const*>(arguments.data()), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  write_end.reset();
  if (failure != 0) return {};
  Finished finished;
  std::array<char, 4096> block;
  for (ssize_t got = 1; got > 0;) {
    got = ::read(read_end.get(), block.data(), block.size());
    if (got > 0) finished.output.append(block.data(), static_cast<size_t>(got));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) finished.exit_code = WEXITSTATUS(status);
  return finished;
}

}  // namespace strait::perf
