/* A C program made for NCCL: all ranks in one process and one thread, as NCCL's documentation shows
 * it, on host memory. Compiled with the header of the CUDA Toolkit. */
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRanks = 3, kCount = 1000 };

#define CHECK(call)                                                                               \
  do {                                                                                            \
    ncclResult_t result = (call);                                                                 \
    if (result != ncclSuccess) {                                                                  \
      fprintf(stderr, "%s: %s: %s\n", #call, ncclGetErrorString(result), ncclGetLastError(NULL)); \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)
#define EXPECT(condition)                                                   \
  do {                                                                      \
    if (!(condition)) {                                                     \
      fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition); \
      exit(1);                                                              \
    }                                                                       \
  } while (0)

static float in[kRanks][kRanks * kCount];
static float out[kRanks][kRanks * kCount];

static void fill(void) {
  for (int rank = 0; rank < kRanks; ++rank)
    for (int i = 0; i < kRanks * kCount; ++i) in[rank][i] = (float)(rank + 1);
}

static void collectives(ncclComm_t* comms) {
  fill();
  CHECK(ncclGroupStart());
  for (int rank = 0; rank < kRanks; ++rank)
    CHECK(ncclAllReduce(in[rank], out[rank], kCount, ncclFloat, ncclSum, comms[rank], NULL));
  CHECK(ncclGroupEnd());
  for (int rank = 0; rank < kRanks; ++rank) EXPECT(out[rank][kCount - 1] == 6.0f);

  CHECK(ncclGroupStart());
  for (int rank = 0; rank < kRanks; ++rank)
    CHECK(ncclReduceScatter(in[rank], out[rank], kCount, ncclFloat, ncclAvg, comms[rank], NULL));
  CHECK(ncclGroupEnd());
  for (int rank = 0; rank < kRanks; ++rank) EXPECT(out[rank][0] > 1.99f && out[rank][0] < 2.01f);

  CHECK(ncclGroupStart());
  for (int rank = 0; rank < kRanks; ++rank) {
    CHECK(ncclSend(in[rank], kCount, ncclFloat, (rank + 1) % kRanks, comms[rank], NULL));
    CHECK(ncclRecv(out[rank], kCount, ncclFloat, (rank + kRanks - 1) % kRanks, comms[rank], NULL));
  }
  CHECK(ncclGroupEnd());
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT(out[rank][7] == (float)((rank + kRanks - 1) % kRanks + 1));
}

static void scaled_sum(ncclComm_t* comms) {
  ncclRedOp_t ops[kRanks];
  float half = 0.5f;
  fill();
  for (int rank = 0; rank < kRanks; ++rank)
    CHECK(ncclRedOpCreatePreMulSum(&ops[rank], &half, ncclFloat, ncclScalarHostImmediate,
                                   comms[rank]));
  CHECK(ncclGroupStart());
  for (int rank = 0; rank < kRanks; ++rank)
    CHECK(ncclReduce(in[rank], out[rank], kCount, ncclFloat, ops[rank], 1, comms[rank], NULL));
  for (int rank = 0; rank < kRanks; ++rank) CHECK(ncclRedOpDestroy(ops[rank], comms[rank]));
  CHECK(ncclGroupEnd());
  EXPECT(out[1][3] == 3.0f);
}

int main(void) {
  int version = 0;
  CHECK(ncclGetVersion(&version));
  EXPECT(version >= NCCL_VERSION_CODE);
  ncclComm_t comms[kRanks];
  CHECK(ncclCommInitAll(comms, kRanks, NULL));
  for (int rank = 0; rank < kRanks; ++rank) {
    int number = -1;
    CHECK(ncclCommUserRank(comms[rank], &number));
    EXPECT(number == rank);
  }
  collectives(comms);
  scaled_sum(comms);
  EXPECT(ncclAllReduce(NULL, NULL, 1, ncclFloat, ncclSum, comms[0], NULL) == ncclInvalidArgument);
  EXPECT(strcmp(ncclGetErrorString(ncclInvalidArgument),
                "invalid argument (run with NCCL_DEBUG=WARN for details)") == 0);
  for (int rank = 0; rank < kRanks; ++rank) CHECK(ncclCommDestroy(comms[rank]));
  puts("the C client is content");
  return 0;
}
