// Programs started as several processes with torchrun's variables, for tests. Text for
// run_command(); no cost of its own.
#pragma once

#include <unistd.h>

#include <string>

namespace strait::perf {

inline int next_port() {
  static int port = 10'000 + static_cast<int>(::getpid()) % 20'000;  // below those of clients
  return ++port;
}

// `count` processes of the command; each line that tells of an end begins with "rank N".
inline std::string in_processes(int count, const std::string& command,
                                const std::string& master = "127.0.0.1") {
  const std::string port = std::to_string(next_port());
  std::string script;
  for (int rank = count - 1; rank >= 0; --rank) {
    const std::string name = std::to_string(rank);
    script += "(RANK=" + name + " WORLD_SIZE=" + std::to_string(count) + " LOCAL_RANK=" + name +
              " MASTER_ADDR=" + master + " MASTER_PORT=" + port + " " + command + "; echo rank " +
              name + " ended with $?) & ";
  }
  return script + "wait";
}

inline long occurrences(const std::string& text, const std::string& word) {
  long count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace strait::perf
