"""The build of tools/device_check where no package is found: it says what follows, and compiles.

usage: without_packages.py SOURCE_FOLDER BUILD_FOLDER CMAKE

CMake finds no header and no library below a root that is empty; the compiler would still find what
is in /usr/include, so the test reads what the objects were made of.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import unittest

SOURCE, BUILD, CMAKE = sys.argv[1:4]
del sys.argv[1:]
FOLDER = os.path.join(BUILD, "without_packages")
PACKAGES = re.compile(r"/(?:fmt|hwy|openssl|nlohmann|CLI|gtest)/|/sodium|/xxhash|/gelf")
SUBSTITUTES = "tools/cmake/substitutes/"
# The sources that need most of others: formatting, secrets, and the checks' own.
OBJECTS = ("src/base/units.cpp", "src/base/fd_exchange_wire.cpp", "transport/net/handshake.cpp",
           "perf/device/record.cpp")


def configure(*options):
    empty = os.path.join(FOLDER, "empty")
    os.makedirs(empty, exist_ok=True)
    return subprocess.run(
        [CMAKE, "-S", SOURCE, "-B", FOLDER, "-G", "Unix Makefiles", "-DSTRAIT_NVCC=OFF",
         f"-DCMAKE_FIND_ROOT_PATH={empty}", "-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY",
         "-DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY", *options],
        capture_output=True, text=True, timeout=120, check=False)


class WithoutPackages(unittest.TestCase):
    def test_a_device_build_says_what_it_goes_without(self):
        done = configure("-DSTRAIT_DEVICE_BUILD=ON")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Without {fmt}: a substitute formats messages", done.stdout)
        self.assertIn("Without libsodium: ranks meet inside one host only", done.stdout)
        for source in OBJECTS:
            self.compile(source)

    def compile(self, source):
        """As its object would be; none of its headers is a package's."""
        with open(os.path.join(FOLDER, "compile_commands.json"), encoding="utf-8") as file:
            commands = [c for c in json.load(file) if c["file"].endswith("/" + source)]
        self.assertEqual(len(commands), 1, source)
        command = [word for word in shlex.split(commands[0]["command"]) if "ccache" not in word]
        command += ["-fsyntax-only", "-H"]
        done = subprocess.run(command, cwd=commands[0]["directory"], timeout=120,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        headers = re.findall(r"^\.+ (\S+)$", done.stderr, re.MULTILINE)
        self.assertIn(True, [SUBSTITUTES in header for header in headers])
        self.assertEqual([h for h in headers if PACKAGES.search(h) and SUBSTITUTES not in h], [])

    def test_any_other_build_says_what_is_missing(self):
        done = configure("-DSTRAIT_DEVICE_BUILD=OFF")
        self.assertNotEqual(done.returncode, 0)
        sentence = " ".join(done.stderr.split())
        self.assertIn("{fmt} is missing", sentence)
        self.assertIn("-DSTRAIT_DEVICE_BUILD=ON", sentence)


if __name__ == "__main__":
    unittest.main()
