"""Looks at the built library from outside: what it exports, what it needs, what loading it does.

usage: library_surface.py LIBRARY
"""

import ctypes
import os
import re
import subprocess
import sys
import unittest

EXPORTED = re.compile(r"^(?:nccl|pnccl|strait)\w*$")
# The C and C++ runtimes, as the loader names them on x86-64 and on Arm.
NEEDED = re.compile(r"^(?:libc|libm|libpthread|libdl|librt|libgcc_s|libstdc\+\+|"
                    r"ld-linux[\w-]*)\.so\.\d+$")

DECLARED = re.compile(r"NCCL_DECLARE\(\s*[\w\s*]+?,\s*([A-Z]\w*),")

STOCK = "/usr/local/cuda/lib/libnccl.so.2"
# A name that stock NCCL lets out by accident; it has no twin and no caller.
STRAY = {"ncclResetDebugInitInternal"}

LIBRARY = sys.argv[-1]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def output_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def exported_by(library):
    return {line.split()[-1].split("@")[0]: line.split()[-2] for line in
            output_of("nm", "-D", "--defined-only", library).splitlines()}


class Surface(unittest.TestCase):
    def test_exports_what_the_header_declares(self):
        with open(os.path.join(ROOT, "include/nccl.h"), encoding="utf-8") as file:
            names = {f"nccl{name}" for name in DECLARED.findall(file.read())}
        self.assertEqual(len(names), 73)
        exported = exported_by(LIBRARY)
        self.assertEqual(sorted(names - exported.keys()), [])
        self.assertEqual({exported[name] for name in names}, {"W"}, "nccl names are weak")
        self.assertEqual({exported[f"p{name}"] for name in names}, {"T"}, "pnccl names are strong")

    @unittest.skipUnless(os.path.exists(STOCK), f"{STOCK} is not installed")
    def test_exports_what_the_cuda_toolkits_library_exports(self):
        stock = {name for name in exported_by(STOCK) if re.match("p?nccl", name)} - STRAY
        self.assertGreater(len(stock), 90)
        self.assertEqual(sorted(stock - exported_by(LIBRARY).keys()), [])

    def test_the_table_of_functions_is_up_to_date(self):
        subprocess.run([os.path.join(ROOT, "tools/api_table"), "--check"], check=True)

    def test_exports_only_the_api(self):
        names = [line.split()[-1].split("@")[0] for line in
                 output_of("nm", "-D", "--defined-only", LIBRARY).splitlines()]
        self.assertIn("ncclAllReduce", names)
        self.assertEqual([name for name in names if not EXPORTED.match(name)], [])

    def test_every_name_of_nccl_has_its_profiling_twin(self):
        names = output_of("nm", "-D", "--defined-only", LIBRARY).split()
        functions = {name for name in names if name.startswith("nccl")}
        self.assertEqual([name for name in sorted(functions) if f"p{name}" not in names], [])

    def test_needs_only_the_runtimes(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", LIBRARY))
        self.assertEqual([name for name in needed if not NEEDED.match(name)], [])

    def test_is_found_under_the_name_that_programs_ask_for(self):
        name = re.findall(r"\(SONAME\).*\[(.*)\]", output_of("readelf", "-dW", LIBRARY))
        self.assertEqual(name, ["libnccl.so.2"])

    def test_loading_starts_no_thread_and_prints_nothing(self):
        before = len(os.listdir("/proc/self/task"))
        library = ctypes.CDLL(LIBRARY, mode=os.RTLD_NOW)
        self.assertEqual(len(os.listdir("/proc/self/task")), before)
        version = ctypes.c_int(0)
        self.assertEqual(library.ncclGetVersion(ctypes.byref(version)), 0)
        self.assertGreater(version.value, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
