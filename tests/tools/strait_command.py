"""The strait command as people and scripts call it.

usage: strait_command.py PROGRAM [arguments of unittest]
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GRADIENTS = os.path.join(ROOT, "perf/data/gpt_gradients_bf16.safetensors")
PROGRAM = ""


def strait(*arguments, **settings):
    """Exit code, standard output and standard error, in an environment of these settings alone."""
    ran = subprocess.run([PROGRAM, *arguments], env={"PATH": os.environ["PATH"], **settings},
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                         check=False)
    return ran.returncode, ran.stdout, ran.stderr


def write_tensors(path, tensors):
    """tensors: (name, dtype, shape, bytes)."""
    header, data = {}, b""
    for name, dtype, shape, content in tensors:
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class Case(unittest.TestCase):
    def shown(self, *arguments, **settings):
        status, out, complaint = strait(*arguments, **settings)
        self.assertEqual((status, complaint), (0, ""), arguments)
        return out

    def refused(self, expected, *arguments, **settings):
        status, out, complaint = strait(*arguments, **settings)
        self.assertEqual(status, 2, (arguments, out, complaint))
        self.assertIn(expected, complaint)
        self.assertEqual(len(complaint.splitlines()), 1, complaint)
        return out


class Codec(Case):
    ROW = ["name", "type", "values", "bytes", "wire_bytes", "saving", "encode_gbs", "decode_gbs",
           "exact"]

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "small.safetensors")
        write_tensors(self.path, [
            ("ones", "F32", [300, 200], struct.pack("<f", 1.5) * 60000),
            ("ramp", "BF16", [1000], struct.pack("<1000H", *range(16000, 17000))),
            ("mask", "BOOL", [70000], b"\1\0" * 35000),
            ("none", "F16", [0], b"")])

    def measure(self, path, *arguments):
        return json.loads(self.shown("codec", path, "--json", *arguments))

    def test_every_tensor_and_all_together(self):
        result = self.measure(self.path)
        self.assertEqual(list(result), ["tensors", "total"])
        rows = {row["name"]: row for row in result["tensors"]}
        self.assertEqual(list(rows), ["ones", "ramp", "mask", "none"])
        for row in rows.values():
            self.assertEqual(list(row), self.ROW)
            self.assertTrue(row["exact"])
        self.assertEqual(list(result["total"]), self.ROW[3:])
        self.assertEqual((rows["ones"]["type"], rows["ones"]["values"]), ("float", 60000))
        for key in ("bytes", "wire_bytes"):
            self.assertEqual(result["total"][key], sum(row[key] for row in rows.values()))
        self.assertGreater(rows["ones"]["saving"], 0.2)
        for rate in ("encode_gbs", "decode_gbs"):
            self.assertGreater(rows["ones"][rate], 0)
            self.assertEqual(rows["none"][rate], 0)

    def test_what_the_codec_does_not_know_travels_as_bytes_and_headers_count(self):
        mask = self.measure(self.path)["tensors"][2]
        self.assertEqual((mask["type"], mask["bytes"]), ("BOOL", 70000))
        self.assertEqual(mask["wire_bytes"], 70000 + 2 * 16)  # two chunks of 64 KiB
        self.assertLess(mask["saving"], 0)
        chunks = self.measure(self.path, "--chunk", "1000")["tensors"][2]
        self.assertEqual(chunks["wire_bytes"], 70000 + 70 * 16)

    def test_real_gradients_shrink_by_a_quarter_and_come_back(self):
        results = {}
        for mode in ("fast", "dense", "auto"):
            results[mode] = self.measure(GRADIENTS, "--mode", mode, "--threads", "2")["total"]
            self.assertGreater(results[mode]["saving"], 0.25)
            self.assertIs(results[mode]["exact"], True)
        self.assertEqual(results["auto"]["wire_bytes"], results["fast"]["wire_bytes"])
        self.assertLess(results["dense"]["wire_bytes"], results["fast"]["wire_bytes"])
        alone = self.measure(GRADIENTS, "--mode", "fast")["total"]
        self.assertEqual(alone["wire_bytes"], results["fast"]["wire_bytes"])

    def test_the_table_ends_with_the_total(self):
        last = self.shown("codec", self.path).splitlines()[-1].split()
        self.assertEqual((last[0], last[1], last[-1]), ("total", str(240000 + 2000 + 70000), "yes"))

    def test_bad_input(self):
        self.refused("No such file", "codec", os.path.join(self.folder.name, "absent"))
        with open(GRADIENTS, "rb") as whole, open(self.path, "wb") as part:
            part.write(whole.read(100000))
        self.refused("safetensors", "codec", self.path)
        self.refused("--chunk", "codec", GRADIENTS, "--chunk", "63")
        self.refused("--mode", "codec", GRADIENTS, "--mode", "tiny")
        self.refused("--threads", "codec", GRADIENTS, "--threads", "0")
        self.refused("FILE", "codec")


class Info(Case):
    def test_this_machine(self):
        shown = self.shown("info", STRAIT_HOSTID="pier")
        for expected in ("version ", "pier", "codec kernels ", "reduction kernels ",
                         "free memory ", "interfaces "):
            self.assertIn(expected, shown)
        self.refused("nosuch", "info", STRAIT_SOCKET_IFNAME="=nosuch")

    def test_settings(self):
        shown = self.shown("info", "--env", STRAIT_SLOTS="8", NCCL_DEBUG="INFO")
        self.assertIn("STRAIT_SLOTS = 4   [1..64]\n", shown)
        self.assertIn("    now: STRAIT_SLOTS=8\n", shown)
        self.assertIn("or NCCL_DEBUG\n", shown)
        self.assertIn("    now: NCCL_DEBUG=INFO\n", shown)
        self.assertEqual(shown.count("now:"), 2)
        one = self.shown("info", "--env", "LANES")
        self.assertEqual(one, self.shown("info", "--env", "STRAIT_LANES"))
        self.assertTrue(one.startswith("STRAIT_LANES = 0 "))

    def test_mistakes_in_the_environment(self):
        self.assertIn("STRAIT_SLOTS", self.refused("STRAIT_SLOTS?", "info", "--env",
                                                   STRAIT_SLTS="8"))
        self.refused("from 1 to 64", "info", "--env", STRAIT_SLOTS="99")
        self.refused("STRAIT_SLOTS?", "info", "--env", "STRAIT_SLOT")


class Topo(Case):
    def test_both_forms(self):
        expected = "short  2 racks x 4 ranks\nfull   2 domains: 0-3 | 4-7\nranks  8 in 2 domains\n"
        for text in ("2 racks x 4 ranks", "4+4", "2 domains: 0-3 | 4-7"):
            self.assertEqual(self.shown("topo", text), expected)
        self.assertIn("short  1+2\n", self.shown("topo", "2 domains: 0 | 1-2"))
        self.assertIn("short  1 rack x 1 rank\n", self.shown("topo", "1"))
        self.assertIn("short  none", self.shown("topo", "2 domains: 0,2 | 1"))

    def test_bad_input(self):
        for text in ("", "0", "2 racks x", "0 domains:", "2 domains: 0 | 0", "-1"):
            self.refused("topo", "topo", text)


class Plan(Case):
    def test_golden(self):
        self.assertEqual(
            self.shown("plan", "broadcast", "--ranks", "3", "--count", "100", "--algo", "tree"),
            "# broadcast of 100 float (400 B) on 1 domain: 0-2: tree, 1 lane, pieces of 512 B: "
            "--algo asks for it\n"
            "plan rank 0 of 3 slots 1\n"
            "lane 0 piece 128\n"
            "  input[0] -> output[0] send 2 x100\n"
            "\n"
            "plan rank 1 of 3 slots 1\n"
            "lane 0 piece 128\n"
            "  recv 2 -> output[0] x100\n"
            "\n"
            "plan rank 2 of 3 slots 1\n"
            "lane 0 piece 128\n"
            "  recv 0 -> output[0] send 1 x100\n")

    def test_one_rank_between_racks(self):
        shown = self.shown("plan", "all_reduce", "--topo", "2 racks x 2 ranks", "--count", "64K",
                           "--type", "bfloat16", "--rank", "3", "--lanes", "2", "--chunk", "4K")
        head, first = shown.splitlines()[:2]
        self.assertIn("hierarchical, 2 lanes, pieces of 4 KiB: several domains", head)
        self.assertEqual(first, "plan rank 3 of 4 slots 1")
        self.assertIn(" coded", shown)
        self.assertEqual(shown.count("plan rank"), 1)

    def test_proves_every_collective(self):
        for collective in ("all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter",
                           "all_to_all", "gather", "scatter", "send", "receive"):
            shown = self.shown("plan", collective, "--topo", "2+3", "--count", "1000", "--root",
                               "4", "--verify")
            self.assertIn("# proved for all 5 ranks\n", shown)

    def test_the_environment_counts(self):
        shown = self.shown("plan", "all_reduce", "--ranks", "4", "--count", "1M",
                           STRAIT_ALGO="ring")
        self.assertIn("ring, 4 lanes", shown.splitlines()[0])
        self.refused("STRAIT_SLOTS", "plan", "all_reduce", "--ranks", "4", "--count", "1",
                     STRAIT_SLOTS="none")

    def test_bad_input(self):
        call = ("--ranks", "4", "--count", "1")
        self.refused("no collective", "plan", "all_reverse", *call)
        self.refused("--ranks", "plan", "all_reduce", "--ranks", "0", "--count", "1")
        self.refused("either --ranks", "plan", "all_reduce", "--count", "1")
        self.refused("either --ranks", "plan", "all_reduce", *call, "--topo", "2+2")
        self.refused("--count", "plan", "all_reduce", "--ranks", "4")
        self.refused("--count", "plan", "all_reduce", "--ranks", "4", "--count", "many")
        self.refused("can hold", "plan", "all_gather", "--ranks", "65536", "--count", "1024G")
        self.refused("no type", "plan", "all_reduce", *call, "--type", "quad")
        self.refused("no operation", "plan", "all_reduce", *call, "--op", "xor")
        self.refused("one_shot, two_shot", "plan", "all_reduce", *call, "--algo", "direct")
        self.refused("--rank 4", "plan", "all_reduce", *call, "--rank", "4")
        self.refused("--root 4", "plan", "reduce", *call, "--root", "4")
        self.refused("--root", "plan", "send", *call)
        self.refused("own peer", "plan", "send", *call, "--root", "0")
        self.refused("--lanes", "plan", "all_reduce", *call, "--lanes", "99")
        self.refused("STRAIT_SLOT_BYTES=1M", "plan", "all_reduce", *call, "--chunk", "1M")


class Sim(Case):
    # Of a message nothing but its bytes on the wire takes time.
    WIRE = ("sim", "send", "--topo", "1+1", "--root", "1", "--count", "1M", "--type", "int8",
            "--between", "1GB", "--latency-us", "0", "--memory-gbs", "0", "--step-us", "0",
            "--json")

    def test_the_wire_alone(self):
        plain = json.loads(self.shown(*self.WIRE))
        self.assertAlmostEqual(plain["total_us"], 2**20 / 1e3, places=3)
        self.assertAlmostEqual(plain["algorithm_gbs"], 1.0, places=6)
        self.assertAlmostEqual(plain["busy"]["between"], 1.0, places=6)
        self.assertEqual(plain["busy"]["inside"], 0)
        half = json.loads(self.shown(*self.WIRE, "--ratio", "0.5"))
        self.assertAlmostEqual(half["total_us"], plain["total_us"] / 2, places=3)
        self.assertEqual(half["between_bytes"], 2**19)

    def test_a_slow_codec_is_the_bottleneck(self):
        slow = json.loads(self.shown(*self.WIRE, "--codec-gbs", "0.1"))
        self.assertGreater(slow["total_us"], 2**20 / 1e2)
        # Eight pieces are encoded; the last one's decoding follows.
        self.assertAlmostEqual(slow["busy"]["engine"], 8 / 9.1, places=3)

    def test_json_and_text_tell_the_same(self):
        call = ("sim", "all_reduce", "--topo", "2 racks x 4 ranks", "--count", "1M")
        result = json.loads(self.shown(*call, "--json"))
        self.assertEqual(list(result), [
            "collective", "topology", "bytes", "algorithm", "lanes", "piece_bytes", "reason",
            "total_us", "algorithm_gbs", "busy", "inside_bytes", "between_bytes", "longest_wait"])
        self.assertEqual((result["bytes"], result["algorithm"]), (2**22, "hierarchical"))
        shown = self.shown(*call)
        self.assertIn(f"{result['total_us']:.1f} us\n", shown)
        self.assertIn(result["longest_wait"]["at"], shown)

    def test_bad_input(self):
        self.refused("--between", *self.WIRE, "--between", "fast")
        self.refused("--ratio", *self.WIRE, "--ratio", "0")
        self.refused("--ratio", *self.WIRE, "--ratio", "nan")
        self.refused("--step-us", *self.WIRE, "--step-us", "nan")
        self.refused("no collective", "sim", "all_reverse", "--ranks", "2", "--count", "1")


class Command(Case):
    def test_help_and_version(self):
        self.assertRegex(self.shown("--version"), r"^strait \d+\.\d+\.\d+\n$")
        whole = self.shown("--help")
        for command in ("codec", "exec", "info", "topo", "plan", "sim"):
            self.assertIn(f"  {command} ", whole)
            self.assertIn(f"strait {command}", self.shown(command, "--help"))

    def test_bad_input(self):
        self.refused("subcommand", *())
        self.refused("no command \"sail\"", "sail")
        self.refused("--sail", "topo", "4", "--sail")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
