#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <numeric>
#include <thread>

#include "base/fd.hpp"
#include "perf/launch/environment.hpp"
#include "perf/launch/rendezvous.hpp"
#include "perf/launch/socket.hpp"

namespace strait::perf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Result<LaunchEnvironment> detect(const std::map<std::string, std::string>& variables) {
  return detect_launch([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

int free_port() {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof(address);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &bytes);
  return ntohs(address.sin_port);
}

TEST(LaunchEnvironment, KnowsEachLauncher) {
  EXPECT_EQ(detect({})->kind, LaunchKind::kSingle);
  const auto open_mpi = detect({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}});
  EXPECT_EQ(open_mpi->kind, LaunchKind::kOpenMpi);
  EXPECT_EQ(open_mpi->rank, 3);
  EXPECT_EQ(open_mpi->size, 8);
  EXPECT_EQ(detect({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}})->kind, LaunchKind::kMpich);
  const auto torchrun = detect({{"RANK", "1"},
                                {"WORLD_SIZE", "4"},
                                {"MASTER_ADDR", "::1"},
                                {"MASTER_PORT", "29500"},
                                {"LOCAL_RANK", "1"}});
  EXPECT_EQ(torchrun->kind, LaunchKind::kTorchrun);
  EXPECT_EQ(torchrun->address, "::1");
  EXPECT_EQ(torchrun->port, 29500);
}

TEST(LaunchEnvironment, LeavesThePortToTorchrunsAgent) {
  const auto torchrun = detect({{"RANK", "1"},
                                {"WORLD_SIZE", "4"},
                                {"MASTER_ADDR", "a"},
                                {"MASTER_PORT", "29500"},
                                {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(torchrun->port, 29501);
}

TEST(LaunchEnvironment, FindsSlurmsFirstHost) {
  const auto slurm = detect({{"SLURM_PROCID", "5"},
                             {"SLURM_NTASKS", "16"},
                             {"SLURM_STEP_NUM_TASKS", "8"},
                             {"SLURM_JOB_ID", "123456"},
                             {"SLURM_STEP_NODELIST", "node[07-12,20],gpu3"}});
  ASSERT_TRUE(slurm.ok()) << slurm.status().message();
  EXPECT_EQ(slurm->kind, LaunchKind::kSlurm);
  EXPECT_EQ(slurm->size, 8);
  EXPECT_EQ(slurm->address, "node07");
  EXPECT_EQ(slurm->port, 20000 + 123456 % 20000);
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("solo"), "solo");
  EXPECT_EQ(first_host("n[3]"), "n3");
}

TEST(LaunchEnvironment, NamesTheVariableThatIsWrong) {
  EXPECT_THAT(detect({{"RANK", "1"}}).status().message(), HasSubstr("WORLD_SIZE"));
  EXPECT_THAT(detect({{"RANK", "4"}, {"WORLD_SIZE", "4"}}).status().message(),
              HasSubstr("RANK=\"4\""));
  EXPECT_THAT(detect({{"RANK", "x"}, {"WORLD_SIZE", "4"}}).status().message(), HasSubstr("\"x\""));
  EXPECT_THAT(detect({{"RANK", "1"}, {"WORLD_SIZE", "4"}}).status().message(),
              HasSubstr("MASTER_ADDR"));
  EXPECT_THAT(detect({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}}).status().message(),
              HasSubstr("MASTER_PORT"));
}

LaunchEnvironment place(int rank, int size, int port, int meet_ms = 20'000) {
  return {LaunchKind::kTorchrun, rank, size, "127.0.0.1", port, meet_ms};
}

// Each process as a thread of this one.
std::vector<Status> run_all(int size, int port,
                            const std::function<Status(Launcher&)>& conversation) {
  std::vector<Status> verdicts(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      auto launcher = launch_rendezvous(place(rank, size, port), {});
      verdicts[static_cast<size_t>(rank)] =
          launcher.ok() ? conversation(**launcher) : launcher.status();
    });
  for (std::thread& thread : threads) thread.join();
  return verdicts;
}

TEST(Rendezvous, BroadcastsGathersAndEnds) {
  const auto verdicts = run_all(5, free_port(), [](Launcher& launcher) -> Status {
    std::vector<int> word = {launcher.rank() == 0 ? 77 : 0};
    STRAIT_TRY(launcher.broadcast(std::as_writable_bytes(std::span(word))));
    if (word[0] != 77) return error(Code::kInternalError, "broadcast gave {}", word[0]);
    const int mine = 10 + launcher.rank();
    STRAIT_ASSIGN(const auto bytes, launcher.all_gather(std::as_bytes(std::span(&mine, 1))));
    std::vector<int> all(5), expected(5);
    std::memcpy(all.data(), bytes.data(), bytes.size());
    std::iota(expected.begin(), expected.end(), 10);
    if (all != expected) return error(Code::kInternalError, "the gathered numbers are wrong");
    STRAIT_TRY(launcher.barrier());
    return launcher.finish();
  });
  for (const Status& verdict : verdicts) EXPECT_TRUE(verdict.ok()) << verdict.message();
}

TEST(Rendezvous, DropsStrangers) {
  const int port = free_port();
  std::thread stranger([&] {
    auto fd = connect_to("127.0.0.1", port, Deadline::after_ms(10'000));
    ASSERT_TRUE(fd.ok());
    const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    ASSERT_TRUE(
        send_all(fd->get(), std::as_bytes(std::span(request)), Deadline::after_ms(5000)).ok());
    char byte = 0;
    EXPECT_LE(::recv(fd->get(), &byte, 1, MSG_DONTWAIT), 0);
    // Another one says nothing at all and must not hold anybody up.
    auto silent = connect_to("127.0.0.1", port, Deadline::after_ms(1000));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  });
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    auto launcher = launch_rendezvous(place(1, 2, port), {});
    ASSERT_TRUE(launcher.ok()) << launcher.status().message();
    EXPECT_TRUE((*launcher)->finish().ok());
  });
  auto launcher = launch_rendezvous(place(0, 2, port), {});
  ASSERT_TRUE(launcher.ok()) << launcher.status().message();
  EXPECT_TRUE((*launcher)->finish().ok());
  stranger.join();
  late.join();
}

TEST(Rendezvous, NamesMissingRanks) {
  const int port = free_port();
  Status joined;
  std::thread one([&] { joined = launch_rendezvous(place(1, 4, port, 500), {}).status(); });
  const Status root = launch_rendezvous(place(0, 4, port, 500), {}).status();
  one.join();
  EXPECT_THAT(root.message(), HasSubstr("rank 2, 3"));
  EXPECT_THAT(joined.message(), HasSubstr("rank 2, 3"));
}

TEST(Rendezvous, RefusesTwoOfOneRankOnAllSides) {
  const int port = free_port();
  std::vector<Status> verdicts(2);
  std::vector<std::thread> twins;
  for (size_t i = 0; i < 2; ++i)
    twins.emplace_back([&, i] { verdicts[i] = launch_rendezvous(place(1, 4, port), {}).status(); });
  const Status root = launch_rendezvous(place(0, 4, port), {}).status();
  for (std::thread& twin : twins) twin.join();
  EXPECT_THAT(root.message(), HasSubstr("two processes came as rank 1"));
  for (const Status& verdict : verdicts)
    EXPECT_THAT(verdict.message(), HasSubstr("two processes came as rank 1"));
}

TEST(Rendezvous, RefusesAnotherNumberOfProcesses) {
  const int port = free_port();
  Status joined;
  std::thread one([&] { joined = launch_rendezvous(place(1, 3, port), {}).status(); });
  const Status root = launch_rendezvous(place(0, 4, port), {}).status();
  one.join();
  EXPECT_THAT(root.message(), AllOf(HasSubstr("4 processes"), HasSubstr("WORLD_SIZE")));
  EXPECT_THAT(joined.message(), HasSubstr("WORLD_SIZE"));
}

TEST(Rendezvous, NamesTheVariableOfATakenPort) {
  const int port = free_port();
  const auto taken = listen_on(port, "MASTER_PORT");
  ASSERT_TRUE(taken.ok());
  const Status root = launch_rendezvous(place(0, 2, port), {}).status();
  EXPECT_THAT(root.message(), AllOf(HasSubstr(std::to_string(port)), HasSubstr("MASTER_PORT")));
}

TEST(Rendezvous, NoticesThatTheListenerIsAStranger) {
  const int port = free_port();
  const auto listener = listen_on(port, "MASTER_PORT");
  ASSERT_TRUE(listener.ok());
  std::thread stranger([&] {
    const auto guest = accept_one(listener->get(), Deadline::after_ms(10'000));
    ASSERT_TRUE(guest.ok() && *guest);
    const std::string reply = "HTTP/1.1 400 Bad Request\r\n\r\n";
    ASSERT_TRUE(
        send_all(guest->get(), std::as_bytes(std::span(reply)), Deadline::after_ms(1000)).ok());
  });
  const Status status = launch_rendezvous(place(1, 2, port), {}).status();
  stranger.join();
  EXPECT_THAT(status.message(), AllOf(HasSubstr("is not our process 0"), HasSubstr("MASTER_PORT")));
}

TEST(Rendezvous, SaysWhenNobodyListens) {
  const Status status = launch_rendezvous(place(1, 2, free_port(), 300), {}).status();
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_THAT(status.message(), HasSubstr("127.0.0.1"));
}

TEST(Rendezvous, OneDeathEndsAProcessThatWaitsElsewhere) {
  const int port = free_port();
  const pid_t waiting = ::fork();
  if (waiting == 0) {
    auto launcher = launch_rendezvous(place(0, 2, port), {.grace_ms = 50});
    ::sleep(30);  // stands for a collective that never ends
    ::_exit(launcher.ok() ? 0 : 99);
  }
  const pid_t dying = ::fork();
  if (dying == 0) {
    auto launcher = launch_rendezvous(place(1, 2, port), {});
    ::_exit(launcher.ok() ? 9 : 99);  // without finish()
  }
  int status = 0;
  ASSERT_EQ(::waitpid(dying, &status, 0), dying);
  EXPECT_EQ(WEXITSTATUS(status), 9);
  ASSERT_EQ(::waitpid(waiting, &status, 0), waiting);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);  // the watcher's, long before the 30 seconds are over
}

}  // namespace
}  // namespace strait::perf
