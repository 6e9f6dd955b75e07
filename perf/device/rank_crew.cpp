#include "perf/device/rank_crew.hpp"

#include <spawn.h>
#include <sys/wait.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/clock.hpp"

extern char** environ;

namespace strait::device_check {
namespace {

void use_device(const char* device) {
  setenv("STRAIT_DEVICE", device, 1);
}

// While it lives the environment has the settings.
class Settings {
 public:
  explicit Settings(const std::map<std::string, std::string>& all) : all_(all) {
    for (const auto& [name, value] : all_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Settings() {
    for (const auto& [name, value] : all_) unsetenv(name.c_str());
    unsetenv("STRAIT_DEVICE");
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

 private:
  const std::map<std::string, std::string>& all_;
};

Result<ncclUniqueId> make_id(const NcclLibrary& nccl) {
  ncclUniqueId id;
  STRAIT_TRY(nccl.status(nccl.get_unique_id(&id), "ncclGetUniqueId", nullptr));
  return id;
}

std::string hex(const ncclUniqueId& id) {
  std::string text;
  for (const char byte : id.internal) text += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return text;
}

ncclUniqueId from_hex(const std::string& text) {
  ncclUniqueId id{};
  for (size_t i = 0; i < sizeof id.internal && 2 * i + 1 < text.size(); ++i) {
    unsigned value = 0;
    std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, value, 16);
    id.internal[i] = static_cast<char>(value);
  }
  return id;
}

Result<pid_t> spawn(const std::string& program, std::vector<std::string> arguments) {
  std::vector<char*> pointers = {const_cast<char*>(program.c_str())};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t pid = 0;
  if (const int problem =
          posix_spawn(&pid, program.c_str(), nullptr, nullptr, pointers.data(), environ);
      problem != 0)
    return error(Code::kSystemError, "{} cannot be started: {}", program, std::strerror(problem));
  return pid;
}

// Ends them all when one fails or the time is over.
Status wait_for(const std::vector<pid_t>& processes, int64_t limit_ms) {
  const Deadline deadline = Deadline::after_ms(limit_ms);
  std::vector<bool> gone(processes.size());
  size_t left = processes.size();
  Status why;
  while (left > 0) {
    for (size_t rank = 0; rank < processes.size(); ++rank) {
      int state = 0;
      if (gone[rank] || waitpid(processes[rank], &state, WNOHANG) == 0) continue;
      gone[rank] = true;
      --left;
      if (why.ok() && !(WIFEXITED(state) && WEXITSTATUS(state) == 0))
        why = error(Code::kRemoteError, "rank {} of processes failed (state {})", rank, state);
    }
    if (why.ok() && deadline.passed())
      why = error(Code::kTimeout, "{} of {} processes had not finished after {} ms", left,
                  processes.size(), limit_ms);
    if (!why.ok())
      for (size_t rank = 0; rank < processes.size(); ++rank)
        if (!gone[rank]) kill(processes[rank], SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return why;
}

}  // namespace

int whole_number(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && stop == end ? number : -1;
}

Status on_threads(int rank_count, const std::function<Status(int rank)>& work) {
  std::vector<Status> results(static_cast<size_t>(rank_count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < rank_count; ++rank)
    threads.emplace_back([&, rank] { results[static_cast<size_t>(rank)] = work(rank); });
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < rank_count; ++rank)
    STRAIT_TRY(results[static_cast<size_t>(rank)].at(fmt::format("rank {}", rank)));
  return Status();
}

Status check_threads(const CrewTerms& terms) {
  STRAIT_ASSIGN(const NcclLibrary nccl, NcclLibrary::open(terms.library));
  const Settings settings(terms.settings);
  const auto cases = collective_cases(terms.rank_count, terms.tiny);
  std::vector<std::vector<std::vector<std::byte>>> on_hosts(static_cast<size_t>(terms.rank_count));
  use_device("host");
  STRAIT_ASSIGN(const ncclUniqueId host_id, make_id(nccl));
  STRAIT_TRY(on_threads(terms.rank_count, [&](int rank) -> Status {
    STRAIT_ASSIGN(on_hosts[static_cast<size_t>(rank)],
                  run_cases(nccl, {rank, terms.rank_count, host_id}, cases, nullptr));
    return Status();
  }));
  use_device("gpu");
  STRAIT_ASSIGN(const ncclUniqueId gpu_id, make_id(nccl));
  return on_threads(terms.rank_count, [&](int rank) -> Status {
    STRAIT_ASSIGN(const auto gpu, Gpu::open(0));
    STRAIT_ASSIGN(const auto on_gpus,
                  run_cases(nccl, {rank, terms.rank_count, gpu_id}, cases, gpu.get()));
    return compare(cases, on_gpus, on_hosts[static_cast<size_t>(rank)]);
  });
}

Status check_processes(const CrewTerms& terms, const std::string& program) {
  STRAIT_ASSIGN(const NcclLibrary nccl, NcclLibrary::open(terms.library));
  const Settings settings(terms.settings);
  STRAIT_ASSIGN(const ncclUniqueId host_id, make_id(nccl));
  STRAIT_ASSIGN(const ncclUniqueId gpu_id, make_id(nccl));
  std::vector<pid_t> processes;
  for (int rank = 0; rank < terms.rank_count; ++rank) {
    STRAIT_ASSIGN(const pid_t pid,
                  spawn(program, {"rank", terms.library, std::to_string(terms.rank_count),
                                  std::to_string(rank), terms.tiny ? "tiny" : "full", hex(host_id),
                                  hex(gpu_id)}));
    processes.push_back(pid);
  }
  return wait_for(processes, terms.limit_ms);
}

Status be_process(int argc, char** argv) {
  if (argc != 8) return error(Code::kInvalidArgument, "a rank takes six arguments");
  STRAIT_ASSIGN(const NcclLibrary nccl, NcclLibrary::open(argv[2]));
  const int rank_count = whole_number(argv[3]), rank = whole_number(argv[4]);
  const auto cases = collective_cases(rank_count, std::strcmp(argv[5], "tiny") == 0);
  use_device("host");
  STRAIT_ASSIGN(const auto on_hosts,
                run_cases(nccl, {rank, rank_count, from_hex(argv[6])}, cases, nullptr));
  use_device("gpu");
  STRAIT_ASSIGN(const auto gpu, Gpu::open(0));
  STRAIT_ASSIGN(const auto on_gpus,
                run_cases(nccl, {rank, rank_count, from_hex(argv[7])}, cases, gpu.get()));
  return compare(cases, on_gpus, on_hosts);
}

}  // namespace strait::device_check
