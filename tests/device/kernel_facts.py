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
# Most registers, and bytes that may spill, stored and loaded: by source, or of double, which four
# of its values in flight take 32 registers for. Kernels that code between domains spill around
# steps, which code many blocks of values each; that of sends and receives around its calls of six
# codecs, once per piece. The codec's spill outside of the loops whose instructions are counted
# below; a loop that spills is none there.
LIMITS = {
    "exec_kernels/collectives": (96, 0, 0), "exec_kernels/coded": (128, 1400, 2600),
    "exec_kernels/messages": (128, 3000, 3000),
    "exec_kernels/one_sided": (40, 0, 0),
    "strait_codec_images/encode": (96, 100, 700), "strait_codec_images/decode": (96, 80, 80),
    "strait_codec_images/decode_add": (96, 80, 600),
}
IMAGE_BYTES = 12 << 20
# Instructions of a usual block of 512 bfloat16 values, and of 16 bytes of a thread. These only
# shrink.
INSTRUCTIONS = {
    "encode fast, escapes": 297, "decode fast, escapes": 211, "encode dense": 510,
    "decode dense": 235, "encode fast, escapes, float": 383, "decode fast, escapes, float": 261,
    "encode fast, escapes, f8e4m3": 316, "decode fast, escapes, f8e4m3": 223,
    "sum of floats": 22, "sum of bfloat16": 44, "copy": 11,
}


def kernels(report):
    """(kernel, architecture, registers, spilled bytes) of each kernel."""
    with open(report, encoding="utf-8") as file:
        text = file.read()
    for part in re.split(r"(?=Compiling entry function)", text)[1:]:
        name, architecture = re.search(r"function '(\w+)' for '(\w+)'", part).groups()
        spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part)
        yield (name, architecture, int(re.search(r"Used (\d+) registers", part).group(1)),
               sum(int(stores) + int(loads) for stores, loads in spills))


class Kernels(unittest.TestCase):
    def test_registers_and_spills(self):
        for source, (most, spills, spills_of_double) in LIMITS.items():
            found = list(kernels(os.path.join(BUILD, "ptxas", source + ".txt")))
            self.assertTrue(found, source)
            for name, architecture, registers, spilled in found:
                with self.subTest(kernel=name, architecture=architecture):
                    self.assertLessEqual(registers, most)
                    self.assertLessEqual(
                        spilled, spills_of_double if name.endswith("double") else spills)

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
