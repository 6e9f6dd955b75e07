"""Loading the library does nothing yet: no thread, no file, no socket, no look at the environment.

usage: library_loading.py LIBRARY C_COMPILER
"""

import os
import subprocess
import sys
import tempfile
import unittest

LIBRARY = COMPILER = ""

# Stands before the C library's functions, and says which were called while the library was loaded,
# and which while a communicator was made.
WITNESS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
enum { kSeenMax = 1000 };
static const char* seen[kSeenMax];
static int watching, seen_count;
static void see(const char* name) {
  if (watching && seen_count < kSeenMax) seen[__sync_fetch_and_add(&seen_count, 1)] = name;
}
static void tell(void) {
  watching = 0;
  for (int i = 0; i < seen_count; ++i) printf("%s ", seen[i]);
  printf("\n");
  seen_count = 0;
}
#define WITNESS(result, name, parameters, arguments)                                    \
  result name parameters {                                                              \
    result(*real) parameters = (result(*) parameters)dlsym(RTLD_NEXT, #name);           \
    see(#name);                                                                         \
    return real arguments;                                                              \
  }
WITNESS(char*, getenv, (const char* name), (name))
WITNESS(char*, secure_getenv, (const char* name), (name))
WITNESS(int, open, (const char* path, int flags, int mode), (path, flags, mode))
WITNESS(int, open64, (const char* path, int flags, int mode), (path, flags, mode))
WITNESS(int, openat, (int at, const char* path, int flags, int mode), (at, path, flags, mode))
WITNESS(FILE*, fopen, (const char* path, const char* mode), (path, mode))
WITNESS(FILE*, fopen64, (const char* path, const char* mode), (path, mode))
WITNESS(int, socket, (int family, int type, int protocol), (family, type, protocol))
WITNESS(int, pthread_create, (void* thread, void* how, void* (*run)(void*), void* with),
        (thread, how, run, with))
int main(int count, char** words) {
  watching = 1;
  void* library = dlopen(words[count - 1], RTLD_NOW);
  tell();
  int (*make)(void**, int, const int*) =
      library ? (int (*)(void**, int, const int*))dlsym(library, "ncclCommInitAll") : NULL;
  void* comm = NULL;
  watching = 1;
  int failed = make ? make(&comm, 1, NULL) : 99;
  tell();
  return failed;
}
"""


class Loading(unittest.TestCase):
    def test_all_is_left_for_the_first_communicator(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "witness")
            subprocess.run([COMPILER, "-x", "c", "-", "-o", program, "-rdynamic", "-fno-builtin",
                            "-ldl"], input=WITNESS, text=True, check=True, timeout=60)
            ran = subprocess.run([program, LIBRARY], stdout=subprocess.PIPE, text=True, check=True,
                                 stderr=subprocess.STDOUT, timeout=60)
        loading, making = ran.stdout.splitlines()
        self.assertEqual(loading, "")
        self.assertLessEqual({"getenv", "socket", "pthread_create"}, set(making.split()))


if __name__ == "__main__":
    LIBRARY, COMPILER = (sys.argv.pop(1) for _ in range(2))
    unittest.main()
