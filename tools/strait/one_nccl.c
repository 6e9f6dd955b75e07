/* A module for the loader (LD_AUDIT, see rtld-audit(7)) that keeps a process to one NCCL: whoever
 * asks for a libnccl, by name or by the path of a file, is given the one that was loaded first,
 * which is the preloaded one. PyTorch's wheels load theirs by its path, past every LD_PRELOAD.
 *
 * It uses no library, not even libc, of which the loader would make a second copy for it. The
 * loader calls it under a lock of its own. */
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

static char* first_nccl = NULL;

static int is_libnccl(const char* path) {
  static const char kName[] = "libnccl.so";
  const char* name = path;
  for (const char* at = path; *at != '\0'; ++at)
    if (*at == '/') name = at + 1;
  size_t same = 0;
  while (same < sizeof(kName) - 1 && name[same] == kName[same]) ++same;
  return same == sizeof(kName) - 1;
}

EXPORT unsigned int la_version(unsigned int offered) {
  return offered < LAV_CURRENT ? offered : LAV_CURRENT;
}

EXPORT unsigned int la_objopen(struct link_map* map, Lmid_t space, uintptr_t* cookie) {
  (void)cookie;
  if (space == LM_ID_BASE && first_nccl == NULL && is_libnccl(map->l_name))
    first_nccl = map->l_name;
  return 0; /* of no interest are the names that objects look up in each other */
}

EXPORT char* la_objsearch(const char* name, uintptr_t* cookie, unsigned int stage) {
  (void)cookie;
  if (stage == LA_SER_ORIG && first_nccl != NULL && is_libnccl(name)) return first_nccl;
  return (char*)name;
}
