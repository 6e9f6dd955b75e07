/* What a launch module offers: a shared object of its own per MPI, so that the measuring programs
 * are linked to none and one binary serves all. Owned by the module, valid until the process ends.
 * All functions are called by the main thread, except abort. Each returns 0 or an MPI error code.
 */
#ifndef STRAIT_PERF_LAUNCH_MODULE_H_
#define STRAIT_PERF_LAUNCH_MODULE_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int (*start)(int* rank, int* size);
  int (*broadcast)(void* bytes, size_t count); /* from rank 0 */
  int (*all_gather)(const void* mine, size_t count, void* all);
  int (*barrier)(void);
  int (*finish)(void);
  void (*abort)(int code);
} StraitLaunchModule;

const StraitLaunchModule* strait_launch_module(void);

#ifdef __cplusplus
}
#endif

#endif /* STRAIT_PERF_LAUNCH_MODULE_H_ */
