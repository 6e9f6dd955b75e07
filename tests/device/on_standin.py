"""tools/device_check on the stand-in driver: every part runs, and what it finds is complete.

usage: on_standin.py DEVICE_CHECK BUILD_FOLDER
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT, BUILD = sys.argv[1:3]
del sys.argv[1:]
RECORDS = {"codec check": 13, "machine": 1, "codec speed": 2 + 2 * 3 * 4, "collective check": 4,
           "all-reduce speed": 3 + 1, "torch.distributed": 1}


def run(*arguments, **environment):
    return subprocess.run([SCRIPT, "--build", BUILD, *arguments], capture_output=True, text=True,
                          timeout=280, check=False, env=dict(os.environ, **environment))


class OnStandin(unittest.TestCase):
    def test_everything_runs_and_passes(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("--standin", "--skip", "build,static", OUT=folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(os.path.join(folder, "device_check.json"), encoding="utf-8") as file:
                found = json.load(file)
        self.assertTrue(found["passed"])
        self.assertTrue(found["standin"])
        counts = {}
        for record in found["records"]:
            counts[record["part"]] = counts.get(record["part"], 0) + 1
            self.assertIn(record["verdict"], ("passed", "measured", "skipped"), record)
        self.assertEqual(counts, RECORDS)
        for part in RECORDS:
            self.assertIn(f"\n{part}\n", done.stdout)
        speeds = [r for r in found["records"] if r["part"] == "codec speed"]
        for record in speeds:
            self.assertGreater(record["gbs"], 0, record)
            self.assertGreater(record["of_copy"], 0, record)
        self.assertGreater(max(r["saving"] for r in speeds if r["what"] == "encode"), 0.3)

    def test_a_failure_is_told(self):
        """A kernel that breaks its context fails the part, not the script."""
        with tempfile.TemporaryDirectory() as folder:
            done = run("--standin", "--skip", "build,static,codec-speed,collectives",
                       "--skip", "collectives-speed,torch,nccl", OUT=folder,
                       STRAIT_STANDIN_FAIL="kernel:3=700")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            with open(os.path.join(folder, "device_check.json"), encoding="utf-8") as file:
                found = json.load(file)
        self.assertFalse(found["passed"])
        failed = [r for r in found["records"] if r["verdict"] == "FAILED"]
        self.assertIn("CUDA_ERROR_ILLEGAL_ADDRESS", failed[0]["why"])

    def test_bad_input(self):
        for arguments, sentence in ((["--skip", "cake"], "no part cake"),
                                    (["--cake"], "unknown option --cake"),
                                    (["--standin", "/nowhere/libcuda.so.1"], "is not there")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main()
