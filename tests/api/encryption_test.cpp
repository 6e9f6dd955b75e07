// ncclSetEncryption: communicators whose every TCP connection is encrypted, and what is refused.

#include <gmock/gmock.h>

#include <latch>

#include "tests/api/world.hpp"

namespace strait::test {
namespace {

using testing::HasSubstr;

constexpr const char* kKey = "0123456789abcdef0123456789abcdef";

ncclResult_t encrypt(int mode, const char* key) {
  ncclEncryptionConfig_t config = NCCL_ENCRYPTION_CONFIG_INITIALIZER;
  config.mode = mode;
  config.psk = key;
  return ncclSetEncryption(&config);
}

// Back to none when it ends.
class Encryption : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(encrypt(NCCL_ENCRYPTION_MODE_NONE, nullptr), ncclSuccess); }
};

void sum_and_pass_on(int rank_count, int rank, ncclComm_t comm) {
  std::vector<float> values(1 << 20, static_cast<float>(rank + 1));
  ASSERT_EQ(
      ncclAllReduce(values.data(), values.data(), values.size(), ncclFloat, ncclSum, comm, nullptr),
      ncclSuccess)
      << ncclGetLastError(comm);
  const auto sum = static_cast<float>(rank_count * (rank_count + 1) / 2);
  EXPECT_EQ(values, std::vector<float>(1 << 20, sum));
  std::vector<int> out(300'000, rank);
  std::vector<int> in(300'000, -1);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  ASSERT_EQ(ncclSend(out.data(), out.size(), ncclInt, (rank + 1) % rank_count, comm, nullptr),
            ncclSuccess);
  ASSERT_EQ(
      ncclRecv(in.data(), in.size(), ncclInt, (rank + rank_count - 1) % rank_count, comm, nullptr),
      ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(comm);
  EXPECT_EQ(in, std::vector<int>(300'000, (rank + rank_count - 1) % rank_count));
}

TEST_F(Encryption, CommunicatorsWorkAsWithout) {
  ASSERT_EQ(encrypt(NCCL_ENCRYPTION_MODE_PSK, kKey), ncclSuccess) << ncclGetLastError(nullptr);
  for (const Settings& settings :
       {Settings{{"STRAIT_TRANSPORTS", "tcp"}}, Settings{{"STRAIT_EMULATE_DOMAINS", "2"}},
        Settings{{"STRAIT_TRANSPORTS", "tcp"}, {"STRAIT_SOCKETS", "3"}},
        Settings{{"STRAIT_TRANSPORTS", "tcp"}, {"STRAIT_SLOT_BYTES", "1M"}}})
    run_world(4, settings, [](int rank, ncclComm_t comm) { sum_and_pass_on(4, rank, comm); });
}

TEST_F(Encryption, AnAbortIsToldThroughIt) {
  ASSERT_EQ(encrypt(NCCL_ENCRYPTION_MODE_PSK, kKey), ncclSuccess);
  const Environment environment(Settings{{"STRAIT_TRANSPORTS", "tcp"}});
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::latch both_done(2);  // an abort does not wait for what peers still read
  on_threads(2, [&](int rank) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclSuccess) << ncclGetLastError(nullptr);
    int value = 1;
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    both_done.arrive_and_wait();
    if (rank == 1) {
      EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
      return;
    }
    EXPECT_NE(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
}

TEST_F(Encryption, BadConfigsAreRefused) {
  const auto refused = [](ncclResult_t result, const char* part) {
    EXPECT_EQ(result, ncclInvalidArgument) << part;
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr(part));
  };
  refused(ncclSetEncryption(nullptr), "config is NULL");
  refused(encrypt(NCCL_ENCRYPTION_MODE_PSK, nullptr), "psk is NULL");
  refused(encrypt(NCCL_ENCRYPTION_MODE_PSK, "too short"), "the key has 9 bytes: give at least 32");
  refused(encrypt(2, kKey), "config.mode is 2");
  ncclEncryptionConfig_t config = NCCL_ENCRYPTION_CONFIG_INITIALIZER;
  refused(ncclSetEncryption(&config), "config.mode is");  // the mode must be said
  config.mode = NCCL_ENCRYPTION_MODE_NONE;
  config.magic = 1;
  refused(ncclSetEncryption(&config), "start from NCCL_ENCRYPTION_CONFIG_INITIALIZER");
  config.magic = NCCL_API_MAGIC;
  config.size = 16;
  refused(ncclSetEncryption(&config), "size 16");
  config.size = 100;  // of a newer header
  EXPECT_EQ(ncclSetEncryption(&config), ncclSuccess);
}

}  // namespace
}  // namespace strait::test
