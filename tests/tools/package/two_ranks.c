/* Two ranks in one process add up; prints the version and a sum. With -DOWN_NAMES it has functions
 * that are called as some inside the library are. */
#include <nccl.h>
#include <stdio.h>

#ifdef OWN_NAMES
int sodium_init(void) {
  return 11;
}
int XXH3_64bits(void) {
  return 22;
}
#endif

static int fail(const char* call) {
  printf("%s: %s\n", call, ncclGetLastError(NULL));
  return 1;
}

int main(void) {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return fail("ncclGetVersion");
  ncclComm_t comms[2];
  if (ncclCommInitAll(comms, 2, NULL) != ncclSuccess) return fail("ncclCommInitAll");
  float values[2][3] = {{1, 2, 3}, {10, 20, 30}};
  ncclGroupStart();
  for (int rank = 0; rank < 2; ++rank)
    ncclAllReduce(values[rank], values[rank], 3, ncclFloat, ncclSum, comms[rank], NULL);
  if (ncclGroupEnd() != ncclSuccess) return fail("ncclAllReduce");
  for (int rank = 0; rank < 2; ++rank)
    if (ncclCommDestroy(comms[rank]) != ncclSuccess) return fail("ncclCommDestroy");
  printf("%d %g %g\n", version, values[0][2], values[1][0]);
  return 0;
}
