"""Small C programs and libraries that meet an NCCL which is not ours, compiled for a test.

A stub stands for stock NCCL: the same soname and names, and a version that no other has.
"""

import os
import subprocess

STUB_VERSION = 11111

STUB = f"""
int pncclGetVersion(int* version) {{ *version = {STUB_VERSION}; return 0; }}
int ncclGetVersion(int* version) __attribute__((weak, alias("pncclGetVersion")));
int pncclAllReduce(void) {{ return 0; }}
int ncclAllReduce(void) __attribute__((weak, alias("pncclAllReduce")));
"""
# What stock NCCL is recognised by where its names are gone.
VERSION_LINE = 'const char* version_line(void) { return "NCCL version 2.28.9+cuda13.0"; }\n'
# What programs that only use it say.
OTHER_LINE = 'const char* version_line(void) { return "requires NCCL version 2.27.0 or later"; }\n'

PRINT_VERSION = """
#include <stdio.h>
int ncclGetVersion(int* version);
int main(void) {
  int version = 0;
  ncclGetVersion(&version);
  printf("%d\\n", version);
  fflush(stdout);
  while (getchar() != EOF) {}
  return 0;
}
"""

# Loads what it is told, by name or path, says what version that is, and waits for its input's end.
LOAD = """
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** words) {
  void* library = count > 1 ? dlopen(words[1], RTLD_NOW) : NULL;
  int (*get_version)(int*) = library ? (int (*)(int*))dlsym(library, "ncclGetVersion") : NULL;
  int version = 0;
  if (get_version) get_version(&version);
  printf("%d\\n", version);
  fflush(stdout);
  while (getchar() != EOF) {}
  return library == NULL;
}
"""

# Stands before NCCL, as profilers do: the weak name is its own, the strong one is NCCL's.
PROFILER = """
int pncclAllReduce(void);
int ncclAllReduce(void) { return pncclAllReduce(); }
int main(void) { return 0; }
"""


class Workshop:
    """Compiles into one folder; each method returns the path of what it made."""

    def __init__(self, folder, compiler):
        self.folder, self.compiler = folder, compiler

    def make(self, name, source, *flags):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run([self.compiler, "-x", "c", "-", "-o", path, *flags], input=source, text=True,
                       check=True, timeout=60)
        return path

    def stub(self):
        return self.make("stock/libnccl.so.2", STUB, "-shared", "-fPIC",
                         "-Wl,-soname,libnccl.so.2")

    def linked(self, stub):
        """By RPATH, which the loader follows before LD_LIBRARY_PATH."""
        return self.make("linked", PRINT_VERSION, "-x", "none", stub,
                         f"-Wl,-rpath,{os.path.dirname(stub)},--disable-new-dtags")

    def loader(self):
        return self.make("loader", LOAD, "-ldl")

    def static(self):
        return self.make("static", "int main(void) { return 0; }", "-static")

    def inside(self):
        return self.make("inside", STUB + PRINT_VERSION)

    def inside_without_names(self):
        return self.make("inside_stripped", VERSION_LINE + "int main(void) { return 0; }", "-s")

    def user(self):
        return self.make("user", OTHER_LINE + "int main(void) { return 0; }", "-s")

    def library_with_nccl_inside(self):
        return self.make("libmodel.so", STUB + VERSION_LINE, "-shared", "-fPIC", "-s",
                         "-fvisibility=hidden", "-Wl,-soname,libmodel.so")

    def profiler(self, stub):
        return self.make("profiler", PROFILER, "-x", "none", stub,
                         f"-Wl,-rpath,{os.path.dirname(stub)}")
