"""What the compiler made of the kernels: registers, spills, instructions of bulk loops, and the
size of the library's images.

usage: kernel_facts.py BUILD_FOLDER
"""

import glob
import importlib.util
import os
import re
import sys
import unittest

BUILD = sys.argv[1]
del sys.argv[1:]
LIBRARY = "exec_kernels"  # what is in libnccl.so.2; other images are those of programs
# By source. Kernels that code between domains take all of the 255 that there are, so theirs have no
# limit that a test could hold; only their spills are counted.
REGISTERS = {"collectives": 96, "coded": None}
IMAGE_BYTES = 12 << 20
# Instructions of a usual block of 512 bfloat16 values, and of 16 bytes of a thread. These only
# shrink.
INSTRUCTIONS = {
    "encode fast, escapes": 380, "decode fast, escapes": 255, "encode dense": 780,
    "decode dense": 270, "sum of floats": 22, "sum of bfloat16": 44, "copy": 11,
}


def kernels(report):
    """(kernel, architecture, registers, spilled bytes) of each kernel."""
    with open(report, encoding="utf-8") as file:
        text = file.read()
    pattern = (r"Compiling entry function '(\w+)' for '(\w+)'.*?Function properties for \1\n"
               r".*?(\d+) bytes spill stores, (\d+) bytes spill loads\n.*?Used (\d+) registers")
    for name, architecture, stores, loads, registers in re.findall(pattern, text, re.DOTALL):
        yield name, architecture, int(registers), int(stores) + int(loads)


class Kernels(unittest.TestCase):
    def test_registers_and_spills(self):
        for source, most in REGISTERS.items():
            found = list(kernels(os.path.join(BUILD, "ptxas", LIBRARY, source + ".txt")))
            self.assertTrue(found, source)
            for name, architecture, registers, spilled in found:
                with self.subTest(kernel=name, architecture=architecture):
                    if most is not None:
                        self.assertLessEqual(registers, most)
                    self.assertEqual(spilled, 0)

    def test_images_of_the_library_are_small(self):
        images = glob.glob(os.path.join(BUILD, "src", "exec", LIBRARY, "*.fatbin"))
        self.assertTrue(images)
        self.assertLess(sum(os.path.getsize(image) for image in images), IMAGE_BYTES)


class BulkLoops(unittest.TestCase):
    def test_they_take_few_instructions(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf",
                            "device", "bulk_instructions.py")
        spec = importlib.util.spec_from_file_location("bulk_instructions", path)
        bulk = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(bulk)
        cuobjdump = bulk.find_cuobjdump()
        if cuobjdump is None:
            self.skipTest("there is no cuobjdump (STRAIT_CUOBJDUMP)")
        for architecture in bulk.ARCHITECTURES:
            found = bulk.count(BUILD, architecture, cuobjdump)
            for loop, most in INSTRUCTIONS.items():
                with self.subTest(loop=loop, architecture=architecture):
                    self.assertIsNotNone(found[loop])
                    self.assertLessEqual(found[loop], most)


if __name__ == "__main__":
    unittest.main()
