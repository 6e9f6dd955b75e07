"""tools/two_racks: two hosts that know each other, and nothing left when they go. Needs root."""

import os
import re
import signal
import subprocess
import unittest

from tidy_case import ROOT

TWO_RACKS = os.path.join(ROOT, "tools", "two_racks")


def can_make_namespaces():
    if os.geteuid() != 0:
        return False
    tried = subprocess.run(["unshare", "--net", "--uts", "--ipc", "--mount", "true"],
                           stderr=subprocess.DEVNULL, check=False)
    return tried.returncode == 0


def start(*arguments):
    return subprocess.Popen([TWO_RACKS, *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def finish(process):
    output, _ = process.communicate(timeout=60)
    return process.returncode, output


def racks(process):
    listed = subprocess.run(["ip", "netns"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(rf"^(\w+-{process.pid}-[ab])", listed, re.MULTILINE)


@unittest.skipUnless(can_make_namespaces(), "network namespaces need root")
class TwoRacks(unittest.TestCase):
    def test_two_hosts_with_their_own_memory_and_the_exit_status(self):
        process = start("-n", "pair", "--", "sh", "-c",
                        "hostname; $IN_RACK $B hostname; touch /dev/shm/mine;"
                        "$IN_RACK $B touch /dev/shm/yours; $IN_RACK $B ls /dev/shm; exit 7")
        status, output = finish(process)
        name = f"pair-{process.pid}"
        self.assertEqual((status, output.split()), (7, [f"{name}-a", f"{name}-b", "yours"]))
        self.assertEqual(racks(process), [])

    def test_the_cable_has_the_rate_both_ways(self):
        show = "tc qdisc show dev va; $IN_RACK $B tc qdisc show dev vb"
        _, output = finish(start("-r", "100mbit", "--", "sh", "-c", show))
        self.assertEqual(output.count("rate 100Mbit"), 2, output)

    def test_two_runs_at_once(self):
        both = [start("--", "sh", "-c", "sleep 0.5; $IN_RACK $B hostname") for _ in range(2)]
        for process in both:
            self.assertEqual(finish(process), (0, f"strait-{process.pid}-b\n"))

    def test_a_signal_clears_the_racks(self):
        process = start("--", "sh", "-c", "echo up; $IN_RACK $B sleep 50 & sleep 50")
        self.assertEqual(process.stdout.readline(), "up\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(finish(process)[0], 143)
        self.assertEqual(racks(process), [])

    def test_the_next_run_clears_what_a_killed_one_left(self):
        process = start("--", "sh", "-c", "echo up; exec sleep 50")
        self.assertEqual(process.stdout.readline(), "up\n")
        process.kill()
        process.wait()
        self.assertEqual(len(racks(process)), 2)
        self.assertEqual(finish(start("true"))[0], 0)
        self.assertEqual(racks(process), [])
        process.stdout.close()

    def test_a_bad_rate_is_told(self):
        status, output = finish(start("-r", "quick", "true"))
        self.assertEqual(status, 1)
        self.assertIn('"quick"; write it as 2gbit', output)


if __name__ == "__main__":
    unittest.main()
