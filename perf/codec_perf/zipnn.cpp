#include "perf/codec_perf/zipnn.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/fd.hpp"

extern char** environ;

namespace strait::perf {
namespace {

constexpr int64_t kMostMs = 120'000;

// The values as a file that starts at its beginning.
UniqueFd file_of(std::span<const std::byte> values) {
  UniqueFd file(memfd_create("values", MFD_CLOEXEC));
  for (size_t at = 0; file && at < values.size();) {
    const ssize_t written = write(file.get(), values.data() + at, values.size() - at);
    if (written <= 0) return {};
    at += static_cast<size_t>(written);
  }
  if (file && lseek(file.get(), 0, SEEK_SET) != 0) return {};
  return file;
}

pid_t start(const std::string& python, std::vector<std::string> words, int input, int output) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  pid_t process = -1;
  const int failed =
      posix_spawn(&process, python.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? process : -1;
}

// All that comes until the other end is closed or the time is over.
std::string read_all(int fd) {
  const Deadline deadline = Deadline::after_ms(kMostMs);
  std::string text;
  std::array<char, 4096> piece;
  pollfd ready = {fd, POLLIN, 0};
  while (poll(&ready, 1, deadline.left_ms()) > 0) {
    const ssize_t got = read(fd, piece.data(), piece.size());
    if (got <= 0) break;
    text.append(piece.data(), static_cast<size_t>(got));
  }
  return text;
}

}  // namespace

std::string zipnn_python() {
  const std::string python = STRAIT_PEERS "/bin/python3";
  return std::filesystem::exists(python) ? python : std::string();
}

std::optional<Standing> race_zipnn(const std::string& python, const Field& field,
                                   size_t chunk_bytes, int rounds) {
  const DataType type = field.type;
  if (type != DataType::kBfloat16 && type != DataType::kFloat16 && type != DataType::kFloat32)
    return std::nullopt;
  const UniqueFd values = file_of(field.values);
  std::array<int, 2> ends;
  if (!values || pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  const pid_t process =
      start(python,
            {python, "-W", "ignore", STRAIT_ZIPNN_SCRIPT, std::string(name_of(type)),
             std::to_string(chunk_bytes), std::to_string(rounds)},
            values.get(), to.get());
  to.reset();
  if (process < 0) return std::nullopt;
  const std::string text = read_all(from.get());
  kill(process, SIGKILL);  // it has ended, or its time is over
  waitpid(process, nullptr, 0);
  const nlohmann::json said = nlohmann::json::parse(text, nullptr, false);
  if (!said.is_object()) return std::nullopt;
  Standing standing;
  standing.contender = "ZipNN";
  standing.saving = said["saving"];
  standing.encode_gbs = said["encode_gbs"];
  standing.decode_gbs = said["decode_gbs"];
  standing.exact = said["exact"];
  return standing;
}

}  // namespace strait::perf
