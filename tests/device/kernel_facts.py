"""What the compiler says of the kernels: registers, spills, and the size of the library's images.

usage: kernel_facts.py BUILD_FOLDER
"""

import glob
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


if __name__ == "__main__":
    unittest.main()
