"""The table that ends the demo: what it shows, and that nothing inexact passes for exact."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from tidy_case import ROOT

MEBIBYTE = 2**20


def result(size=MEBIBYTE, time=8000.0, wire=4 * MEBIBYTE, wrong=0, result_hash="ab"):
    side = {"time": time, "nwrong": wrong}
    return {"size": size, "out_of_place": side, "in_place": side, "wire_bytes": wire,
            "result_hash": result_hash}


class DemoTable(unittest.TestCase):
    def show(self, plain, compressed):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, results in (("plain.json", plain), ("compressed.json", compressed)):
                paths.append(os.path.join(folder, name))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    json.dump({"results": results}, file)
            shown = subprocess.run(
                [sys.executable, os.path.join(ROOT, "tools", "demo_table"), *paths],
                stdout=subprocess.PIPE, text=True, check=False)
            return shown.returncode, shown.stdout

    def test_shows_times_speed_up_and_saving(self):
        status, shown = self.show([result()], [result(time=5000.0, wire=3 * MEBIBYTE)])
        self.assertEqual(status, 0)
        line = shown.splitlines()[2].split()
        self.assertEqual(line, "1 MB 8.0 ms 5.0 ms 1.60 x 4.0 -> 3.0 MB 25.0 % yes".split())

    def test_other_bits_are_not_exact(self):
        status, shown = self.show([result()], [result(result_hash="ac")])
        self.assertEqual(status, 1)
        self.assertIn("NO", shown)

    def test_wrong_values_are_not_exact_even_when_both_agree(self):
        self.assertEqual(self.show([result(wrong=1)], [result(wrong=1)])[0], 1)

    def test_unchecked_values_are_not_exact(self):
        self.assertEqual(self.show([result(wrong="N/A")], [result(wrong="N/A")])[0], 1)

    def test_a_missing_size_is_told(self):
        status, shown = self.show([result(), result(size=4)], [result()])
        self.assertEqual(status, 1)
        self.assertIn("same sizes", shown)


if __name__ == "__main__":
    unittest.main()
