"""Each rule of the house with a small bad example, and the good one beside it."""

import os
import unittest

from tidy_case import ROOT, TidyCase, load_script
from tidy_rules import allow, calls, includes, lengths, shape, words
from tidy_rules.tree import Finding


class Lengths(TidyCase):
    def test_file_length(self):
        self.assert_clean(lengths.file_length, {"a.cpp": "x\n" * 400, "a.md": "x\n" * 900})
        self.assert_found(lengths.file_length, {"a.cpp": "x\n" * 401, "b": "#!/bin/sh\n" * 401},
                          ("a.cpp", 401, "file-length"), ("b", 401, "file-length"))

    def test_columns_are_characters(self):
        self.assert_clean(lengths.columns, {"a.hpp": "─" * 100 + "\n", "a.md": "x" * 200})
        self.assert_found(lengths.columns, {"a.hpp": "\n" + "x" * 101 + "\n"},
                          ("a.hpp", 2, "columns"))

    def test_function_length(self):
        long = "void f() {\n" + "  go();\n" * 69 + "}\n"
        self.assert_found(lengths.function_length, {"a.cpp": "\n" + long},
                          ("a.cpp", 2, "function-length"))
        self.assert_clean(lengths.function_length, {"a.cpp": long.replace("  go();\n", "", 1)})

    def test_python_function_length(self):
        text = "def f():\n" + "    go()\n" * 70
        self.assert_found(lengths.function_length, {"a.py": text}, ("a.py", 1, "function-length"))
        self.assert_found(lengths.function_length, {"a": "#!/usr/bin/env python3\ndef f(:\n"},
                          ("a", 2, "function-length"))


class Includes(TidyCase):
    FILES = {"src/base/a.hpp": "", "topology/a.hpp": "", "codec/a.hpp": "", "transport/a.hpp": "",
             "src/plan/a.hpp": "", "src/plan/request.hpp": "", "src/exec/a.hpp": "",
             "src/comm/a.hpp": "", "src/api/a.hpp": "", "include/nccl.h": ""}
    # For each folder, the folders it may include (house rule: who knows whom).
    ALLOWED = {
        "src/base": "base", "topology": "base topology", "codec": "base codec",
        "transport": "base transport", "src/plan": "base topology plan",
        "src/exec": "base codec transport plan exec",
        "src/comm": "base topology codec transport plan exec comm", "src/api": "base comm api",
    }

    def test_matrix(self):
        for folder, allowed in self.ALLOWED.items():
            for target in "base topology codec transport plan exec comm api".split():
                files = dict(self.FILES)
                files[f"{folder}/b.cpp"] = f'\n#include "{target}/a.hpp"\n'
                with self.subTest(f"{folder} includes {target}"):
                    expected = [] if target in allowed.split() else [
                        (f"{folder}/b.cpp", 2, "layers")]
                    self.assert_found(includes.matrix, files, *expected)

    def test_api_knows_requests_and_the_public_headers(self):
        text = '#include "plan/request.hpp"\n#include <nccl.h>\n'
        self.assert_clean(includes.matrix, {**self.FILES, "src/api/b.cpp": text})

    def test_only_api_knows_the_public_headers(self):
        self.assert_found(includes.matrix, {**self.FILES, "src/comm/b.cpp": "#include <nccl.h>\n"},
                          ("src/comm/b.cpp", 1, "layers"))

    def test_tests_and_perf_include_anything(self):
        text = "".join(f'#include "{f}/a.hpp"\n' for f in ("plan", "exec", "api", "codec"))
        self.assert_clean(includes.matrix, {**self.FILES, "tests/b.cpp": text, "perf/b.cpp": text})

    def test_a_commented_include_is_none(self):
        self.assert_clean(includes.matrix,
                          {**self.FILES, "codec/b.cpp": '// #include "plan/a.hpp"\n'})

    def test_plan_is_pure(self):
        self.assert_found(includes.plan_is_pure, {"src/plan/b.cpp": "#include <thread>\n"},
                          ("src/plan/b.cpp", 1, "plan-is-pure"))
        self.assert_clean(includes.plan_is_pure, {"src/plan/b.cpp": "#include <vector>\n",
                                                  "src/exec/b.cpp": "#include <thread>\n"})

    def test_include_path_starts_at_the_root(self):
        self.assert_found(includes.rooted, {"src/base/a.hpp": "", "src/base/b.cpp":
                                            '#include "a.hpp"\n#include "../base/a.hpp"\n'},
                          ("src/base/b.cpp", 1, "include-path"),
                          ("src/base/b.cpp", 2, "include-path"))
        self.assert_clean(includes.rooted, {"src/base/a.hpp": "",
                                            "src/base/b.cpp": '#include "base/a.hpp"\n'})

    def test_cycles(self):
        files = {"src/base/a.hpp": '#include "base/b.hpp"\n', "src/base/c.hpp": "",
                 "src/base/b.hpp": '#include "base/c.hpp"\n#include "base/a.hpp"\n'}
        self.assert_found(includes.cycles, files, ("src/base/b.hpp", 2, "include-cycle"))
        files["src/base/b.hpp"] = '#include "base/c.hpp"\n'
        files["src/base/a.hpp"] += '#include "base/c.hpp"\n'
        self.assert_clean(includes.cycles, files)


class Calls(TidyCase):
    BAD = {
        "unbounded-copy": "sprintf(text, format);", "random": "int r = std::rand();",
        "shell": 'system("ls");', "number-parsing": "int n = atoi(text);",
        "sleep": "usleep(10);", "endl": "out << std::endl;", "assert": "assert(x > 1);",
        "goto": "goto out;", "using-namespace": "using namespace std;",
        "throw": "throw 3;", "print": 'printf("x");', "exit": "std::exit(1);",
        "environment": 'getenv("HOME");', "new": "auto* p = new Thing(3);",
        "delete": "delete thing;",
    }
    GOOD = (
        "snprintf(text, size, format);", "rng.rand();", "file_system(x);", "stream_atoi(x);",
        "sleep_for(x);", "static_assert(sizeof(int) == 4);", "link->exit(1);", "at_exit(1);",
        "Thing(const Thing&) = delete;", "void operator delete(void* p);", "new (place) Thing;",
        "static Sink* const made = new Sink;", "std::unique_ptr<Line> line(new Line);",
        '// printf("x"); throw; goto', 'text = "goto new Thing assert(x)";', "int newest = 1;",
        "rethrow();", "queue.system(1);",
    )

    def test_every_ban_has_an_example(self):
        self.assertEqual(set(self.BAD), {ban.name for ban in calls.BANS})

    def test_bad(self):
        for name, line in self.BAD.items():
            with self.subTest(line):
                self.assert_found(calls.banned, {"src/exec/a.cpp": f"\n{line}\n"},
                                  ("src/exec/a.cpp", 2, name))

    def test_good(self):
        for line in self.GOOD:
            with self.subTest(line):
                self.assert_clean(calls.banned, {"src/exec/a.cpp": line})

    def test_programs_may_print_and_end(self):
        text = 'printf("x"); exit(1); getenv("RANK"); throw 1; sleep(1);'
        self.assert_clean(calls.banned, {"perf/a.cpp": text, "tests/a.cpp": text})

    def test_the_places_that_are_the_replacement(self):
        self.assert_clean(calls.banned, {"src/base/config.cpp": 'std::getenv("X");',
                                         "src/base/status.cpp": 'std::fprintf(stderr, "x");'})

    def test_atomic_partner(self):
        self.assert_found(calls.atomic_partner,
                          {"src/base/a.hpp": "std::atomic<int> n{0};\nstd::atomic_flag f;\n"},
                          ("src/base/a.hpp", 1, "atomic-partner"),
                          ("src/base/a.hpp", 2, "atomic-partner"))
        self.assert_clean(calls.atomic_partner,
                          {"src/base/a.hpp": "std::atomic<int> n{0};  // partner: wait()\n"
                                             "void f(std::atomic<int>& n);\n",
                           "src/base/b.hpp": "// Partner of both: ring().\n"
                                             "std::atomic<int> n{0};\nstd::atomic<int> m{\n"
                                             "    0};\n",
                           "src/base/c.hpp": "std::atomic<int> n{\n    0};  // partner: ring()\n",
                           "tests/a.cpp": "std::atomic<int> n{0};\n"})


class Words(TidyCase):
    def test_unfinished(self):
        for word in ("TO" + "DO", "FIX" + "ME", "X" + "XX"):
            self.assert_found(words.later, {"a.md": f"\n{word}: later\n"},
                              ("a.md", 2, "unfinished"))
        self.assert_clean(words.later, {"a.cpp": 'mkstemp("/tmp/a.' + "X" * 6 + '");'})

    def test_stray(self):
        for text in ("see /wo" + "rk/main", "in this ses" + "sion", "iss" + "ue #2"):
            with self.subTest(text):
                self.assert_found(words.stray, {"a.md": text}, ("a.md", 1, "stray-word"))
        self.assert_clean(words.stray, {"a.md": "homework/ and network/ and ../work/a"})

    def test_names(self):
        for path in ("src/base/utils.hpp", "perf/common/a.cpp", "src/comm/link_manager.hpp"):
            with self.subTest(path):
                self.assert_found(words.names, {path: ""}, (path, 1, "file-name"))
        self.assert_found(words.names, {"src/base/MyFile.cpp": ""},
                          ("src/base/MyFile.cpp", 1, "file-name"))
        self.assert_clean(words.names, {"src/comm/communicator.hpp": "", "README.md": ""})


class Shape(TidyCase):
    def test_header_paragraph(self):
        good = "// What it is,\n// and who owns it.\n#pragma once\n"
        self.assert_clean(shape.header_paragraph,
                          {"a.hpp": good, "b.h": "/* What it is,\n * and who. */\n#ifndef B\n"})
        self.assert_found(shape.header_paragraph, {"a.hpp": "// One line.\n#pragma once\n"},
                          ("a.hpp", 1, "header-paragraph"))
        self.assert_found(shape.header_paragraph, {"a.hpp": "#pragma once\n// Too\n// late.\n"},
                          ("a.hpp", 1, "header-paragraph"))
        self.assert_found(shape.header_paragraph, {"a.hpp": "// What it is,\n// and who.\n"},
                          ("a.hpp", 1, "header-guard"))

    def test_every_folder_has_a_readme(self):
        self.assert_found(shape.readme_there, {"codec/a.cpp": ""},
                          ("codec/README.md", 1, "folder-readme"))
        self.assert_clean(shape.readme_there, {"codec/a.cpp": "", "codec/README.md": ""})

    def test_readmes_fit_a_screen(self):
        self.assert_found(shape.readme_length, {"perf/README.md": "x\n" * 61},
                          ("perf/README.md", 61, "readme-length"))
        table = "<!-- begin generated: x -->\n" + "x\n" * 90 + "<!-- end generated -->\n"
        self.assert_clean(shape.readme_length, {"README.md": "x\n" * 300,
                                                "codec/README.md": "x\n" * 300,
                                                "perf/README.md": "x\n" * 60,
                                                "tools/README.md": table})

    def test_top_level(self):
        self.assert_found(shape.top_level, {"docs/a.md": "", "notes.txt": ""},
                          ("docs", 1, "top-level"), ("notes.txt", 1, "top-level"))
        self.assert_clean(shape.top_level, {"README.md": "", ".clang-format": "", "src/a.cpp": ""})


class AllowList(unittest.TestCase):
    LONG = Finding("a.cpp", 401, "file-length", "split")

    def test_allows_a_rule_in_a_file(self):
        self.assertEqual(allow.apply([self.LONG], "# why\nfile-length a.cpp  # splits soon\n"), [])
        self.assertEqual(allow.apply([self.LONG], ""), [self.LONG])

    def test_a_stale_entry_is_an_error(self):
        found = allow.apply([], "\nfile-length a.cpp\n")
        self.assertEqual([(f.line, f.rule) for f in found], [(2, "stale-entry")])

    def test_it_only_shrinks(self):
        with open(os.path.join(ROOT, allow.PATH), encoding="utf-8") as file:
            entries = allow.parse(file.read())
        self.assertLessEqual(len(entries), 0, "lower this number with the list; never raise it")


class Program(unittest.TestCase):
    def test_every_rule_runs(self):
        names = {rule.__name__ for rule in load_script("tidy").RULES}
        self.assertEqual(names, {
            "file_length", "columns", "function_length", "matrix", "plan_is_pure", "rooted",
            "cycles", "banned", "atomic_partner", "later", "stray", "names", "header_paragraph",
            "readme_there", "readme_length", "top_level", "layout"})


if __name__ == "__main__":
    unittest.main()
