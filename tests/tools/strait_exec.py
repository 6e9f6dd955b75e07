"""strait exec: a program made for another NCCL runs on ours, and keeps all else that it had.

usage: strait_exec.py PROGRAM LIBRARY C_COMPILER [arguments of unittest]
"""

import ctypes
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest

from foreign_nccl import STUB_VERSION, Workshop

PROGRAM = LIBRARY = COMPILER = ""
PYTHON = sys.executable
DEADLINE_S = 60


def setUpModule():
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    Case.folder, Case.shop = folder.name, Workshop(folder.name, COMPILER)
    Case.stub = Case.shop.stub()
    Case.linked, Case.loader = Case.shop.linked(Case.stub), Case.shop.loader()
    version = ctypes.c_int(0)
    ctypes.CDLL(LIBRARY).ncclGetVersion(ctypes.byref(version))
    Case.ours = str(version.value)


class Case(unittest.TestCase):
    def run_in(self, settings, *words, given=""):
        """Exit code, standard output and standard error, in an environment of these alone."""
        ran = subprocess.run([PROGRAM, "exec", *words], input=given, text=True, check=False,
                             env={"PATH": os.environ["PATH"], **settings}, timeout=DEADLINE_S,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return ran.returncode, ran.stdout, ran.stderr

    def run_quietly(self, *words, settings=None, given=""):
        code, out, complaint = self.run_in(settings or {}, *words, given=given)
        self.assertEqual((code, complaint), (0, ""), words)
        return out

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path


class Replaced(Case):
    """However a program finds its NCCL, ours answers."""

    def test_linked_with_a_path_of_its_own(self):
        alone = subprocess.run([self.linked], stdout=subprocess.PIPE, text=True, check=True,
                               stdin=subprocess.DEVNULL, timeout=DEADLINE_S)
        self.assertEqual(alone.stdout, f"{STUB_VERSION}\n")
        self.assertEqual(self.run_quietly("--", self.linked), f"{self.ours}\n")

    def test_loaded_by_name_or_path(self):
        for name in ("libnccl.so.2", "libnccl.so", self.stub):
            with self.subTest(name):
                self.assertEqual(self.run_quietly("--", self.loader, name), f"{self.ours}\n")

    def test_by_path_is_left_alone_when_asked(self):
        out = self.run_in({}, "--no-redirect", "--", self.loader, self.stub)[1]
        self.assertEqual(out, f"{STUB_VERSION}\n")

    def test_preloaded_and_first_on_the_library_path(self):
        settings = {"LD_PRELOAD": self.stub, "LD_LIBRARY_PATH": os.path.dirname(self.stub)}
        for name in ("libnccl.so.2", "libnccl.so"):
            out = self.run_quietly("--", self.loader, name, settings=settings)
            self.assertEqual(out, f"{self.ours}\n")

    def test_by_the_variables_of_inference_servers(self):
        settings = {name: self.stub for name in ("VLLM_NCCL_SO_PATH", "MY_NCCL_SO_PATH")}
        for name in (*settings, "SGLANG_NCCL_SO_PATH"):
            out = self.run_quietly("--no-redirect", "--", "sh", "-c",
                                   f'exec {self.loader} "${name}"', settings=settings)
            self.assertEqual(out, f"{self.ours}\n", name)

    def test_in_what_a_script_starts(self):
        script = self.script("train.sh", f"#!/bin/sh\n{PYTHON} -c '\nimport subprocess\n"
                             f"subprocess.run([\"{self.linked}\"], check=True)'\nexit 3\n")
        self.assertEqual(self.run_in({}, "--", script), (3, f"{self.ours}\n", ""))

    def test_the_environment_keeps_all_else(self):
        other = self.shop.make("other.so", "int other;", "-shared", "-fPIC")
        stock = os.path.dirname(self.stub)
        another = self.shop.make("another/libnccl.so", "int x;", "-shared", "-fPIC")
        settings = {"LD_PRELOAD": f"{self.stub} {other}:{another}",
                    "LD_LIBRARY_PATH": f"{stock}:/none", "WORD": "a=b c",
                    "NCCL_DEBUG": "WARN", "NCCL_SO_PATHS": "kept"}
        out = self.run_quietly("--", "env", settings=settings)
        after = dict(line.split("=", 1) for line in out.splitlines())
        library = os.path.join(os.path.dirname(PROGRAM), "../lib")
        library = os.path.join(os.path.realpath(library), "libnccl.so.2")
        self.assertEqual(after["LD_PRELOAD"], f"{library}:{other}")
        self.assertEqual(after["LD_LIBRARY_PATH"], f"{os.path.dirname(library)}:{stock}:/none")
        for name in ("WORD", "NCCL_DEBUG", "NCCL_SO_PATHS"):
            self.assertEqual(after[name], settings[name])

    def test_by_another_library_when_asked(self):
        out = self.run_quietly("--library", self.stub, "--", self.linked)
        self.assertEqual(out, f"{STUB_VERSION}\n")


class Same(Case):
    """The program is the process that was started, and nobody stands in its way."""

    def test_process_and_words(self):
        started = subprocess.Popen([PROGRAM, "exec", "--", "sh", "-c", "echo $$"], text=True,
                                   stdout=subprocess.PIPE)
        out = started.communicate(timeout=DEADLINE_S)[0]
        self.assertEqual(int(out), started.pid)
        words = ["--help", "", "[a,b]", "--", "--strict", "a b", "exec"]
        out = self.run_quietly("--", "printf", "%s\\n", *words)
        self.assertEqual(out.splitlines(), words)

    def test_exit_codes_and_signals(self):
        for code in (0, 1, 7, 255):
            self.assertEqual(self.run_in({}, "--", "sh", "-c", f"exit {code}"), (code, "", ""))
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGABRT):
            out = self.run_in({}, "--", "sh", "-c", f"ulimit -c 0; kill -{number} $$")
            self.assertEqual(out, (-number, "", ""))

    def test_input_goes_in_and_output_comes_out(self):
        text = "x" * 1_000_000
        self.assertEqual(self.run_quietly("--", "cat", given=text), text)

    def test_a_stream_that_it_closes_is_closed(self):
        with subprocess.Popen([PROGRAM, "exec", "--", "sh", "-c",
                               "exec >&- <&-; kill -STOP $$"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as started:
            try:
                self.assertEqual(started.stdout.read(), b"")
                os.waitid(os.P_PID, started.pid, os.WSTOPPED | os.WNOWAIT)
                self.assertIsNone(started.poll())
                with self.assertRaises(BrokenPipeError):
                    started.stdin.write(b"x" * 1_000_000)
                    started.stdin.flush()
            finally:
                started.kill()

    def test_it_has_no_files_and_no_children_that_it_did_not_have(self):
        code = ("import os\nprint(sorted(os.listdir('/proc/self/fd')))\n"
                "try: os.wait()\nexcept ChildProcessError: print('no child')")
        alone = subprocess.run([PYTHON, "-c", code], stdout=subprocess.PIPE, text=True, check=True,
                               input="", timeout=DEADLINE_S, stderr=subprocess.PIPE)
        self.assertIn("no child", alone.stdout)
        self.assertEqual(self.run_quietly("--", PYTHON, "-c", code), alone.stdout)


class Refused(Case):
    def refused(self, code, expected, *words):
        got, out, complaint = self.run_in({}, *words)
        self.assertEqual((got, out), (code, ""), complaint)
        self.assertIn(expected, complaint)
        self.assertEqual(len(complaint.splitlines()), 1, complaint)
        self.assertTrue(complaint.startswith("strait: "), complaint)

    def test_bad_input(self):
        self.refused(2, "after --", "--")
        self.refused(2, "after --")
        self.refused(2, "--sail", "--sail", "--", "true")
        self.refused(2, "true", "true")
        self.refused(2, "--library", "--library", os.path.join(self.folder, "none"), "--", "true")
        self.refused(2, "--library", "--library", self.loader, "--", "true")
        with_space = self.shop.make("a b/libnccl.so.2", "int x;", "-shared", "-fPIC")
        self.refused(2, "space", "--library", with_space, "--", "true")

    def test_no_such_program(self):
        self.refused(127, "\"no_such_program\"", "--", "no_such_program")
        self.refused(127, "/none/program", "--", "/none/program")
        self.refused(127, "/none/shell", "--", self.script("orphan", "#!/none/shell\n"))
        self.refused(127, "no_such_python",
                     "--", self.script("orphan", "#!/usr/bin/env -S A=b no_such_python -u\n"))

    def test_no_program(self):
        self.refused(126, "no file", "--", self.folder)
        self.refused(126, "/etc/passwd", "--", "/etc/passwd")

    def test_linked_statically(self):
        static = self.shop.static()
        self.refused(126, f"{static} is linked statically", "--", static)
        self.refused(126, f"{static} is linked statically",
                     "--", self.script("of_static", f"#!{static} -x\n"))
        self.refused(126, f"{static} is linked statically",
                     "--", self.script("of_env", f"#!/usr/bin/env -S {static} -x\n"))

    def test_nccl_linked_statically(self):
        for program in (self.shop.inside(), self.shop.inside_without_names()):
            self.refused(126, f"{program} has NCCL linked statically", "--", program)

    def test_who_only_speaks_of_nccl_or_stands_before_it_runs(self):
        self.run_quietly("--", self.shop.user())
        self.run_quietly("--", self.shop.profiler(self.stub))

    def test_rights_of_another_user(self):
        if os.getuid() == 0:
            program = self.shop.make("rights", "int main(void) { return 0; }")
            os.chown(program, 1, 1)
            os.chmod(program, 0o4755)
        else:
            program = "/usr/bin/passwd"
            if not os.path.exists(program) or not os.stat(program).st_mode & 0o4000:
                self.skipTest("there is no setuid program, and making one needs root")
        self.refused(126, "rights of another user", "--", program)


class Watched(Case):
    def start(self, *words):
        started = subprocess.Popen([PROGRAM, "exec", *words], text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for stream in (started.stdin, started.stdout, started.stderr):
            self.addCleanup(stream.close)
        self.addCleanup(started.wait, DEADLINE_S)
        self.addCleanup(started.kill)
        return started

    def told(self, started, *expected):
        """The program waits for its input's end, so what is told next is told about it as it is."""
        line = started.stderr.readline()
        for text in expected:
            self.assertIn(text, line)
        return line

    def ended(self, started):
        """Nothing more was told before the end."""
        out, complaint = started.communicate(timeout=DEADLINE_S)
        self.assertEqual(complaint, "")
        return started.returncode, out

    def test_one_nccl_is_told_only_when_asked(self):
        started = self.start("--verbose", "--strict", "--", self.linked)
        self.told(started, f"process {started.pid} (linked)", "has one NCCL", LIBRARY)
        self.assertEqual(self.ended(started), (0, f"{self.ours}\n"))

    def test_a_second_one_is_told(self):
        started = self.start("--no-redirect", "--", self.loader, self.stub)
        self.told(started, f"strait: process {started.pid} (loader)", self.stub, "besides",
                  LIBRARY)
        self.assertEqual(self.ended(started), (0, f"{STUB_VERSION}\n"))

    def test_strictly_it_ends_the_program(self):
        started = self.start("--no-redirect", "--strict", "--", self.loader, self.stub)
        self.told(started, self.stub, "ended")
        self.assertEqual(started.stdout.read(), f"{STUB_VERSION}\n")  # its input stays open
        self.assertEqual(started.wait(DEADLINE_S), -signal.SIGTERM)

    def test_a_foreign_one_alone_in_a_descendant(self):
        line = f"unset LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH; {shlex.quote(self.linked)}; echo $?"
        started = self.start("--", "sh", "-c", line)
        told = self.told(started, "(linked)", self.stub, "and not", "LD_PRELOAD")
        self.assertNotIn(f"process {started.pid} ", told)
        self.assertEqual(self.ended(started), (0, f"{STUB_VERSION}\n0\n"))

    def test_strictly_the_descendant_ends_too(self):
        line = f"trap '' TERM; ({PYTHON} -c '\nimport signal, os\n" \
               f"signal.signal(signal.SIGTERM, signal.SIG_DFL)\n" \
               f"os.environ.pop(\"LD_PRELOAD\"); os.environ.pop(\"LD_AUDIT\", 0)\n" \
               f"os.environ.pop(\"LD_LIBRARY_PATH\")\n" \
               f"os.execv(\"{self.linked}\", [\"linked\"])'); echo $?"
        started = self.start("--strict", "--", "sh", "-c", line)
        self.told(started, "(linked)", "ended")
        out = started.stdout.read()  # its input stays open
        self.assertEqual(out, f"{STUB_VERSION}\n{128 + signal.SIGTERM}\n")

    def test_a_library_with_nccl_inside(self):
        inside = self.shop.library_with_nccl_inside()
        started = self.start("--", self.loader, inside)
        self.told(started, inside, "linked statically")
        self.assertEqual(self.ended(started), (0, "0\n"))

    def test_the_library_warns_of_a_second_one_itself(self):
        code = (f"import ctypes\nctypes.CDLL('{self.stub}')\n"
                "comm = ctypes.c_void_p()\n"
                "print(ctypes.CDLL('libnccl.so.2').ncclCommInitAll(ctypes.byref(comm), 1, None))")
        out, complaint = self.run_in({}, "--no-redirect", "--", PYTHON, "-c", code)[1:]
        self.assertEqual(out, "0\n")
        self.assertEqual(complaint.count(f"{self.stub} is loaded too"), 1, complaint)


if __name__ == "__main__":
    PROGRAM, LIBRARY, COMPILER = (sys.argv.pop(1) for _ in range(3))
    LIBRARY = os.path.realpath(LIBRARY)
    unittest.main()
