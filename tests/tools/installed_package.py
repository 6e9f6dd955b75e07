"""What a user finds after `cmake --install`, built against in every usual way, from a moved tree.

usage: installed_package.py BUILD_FOLDER CMAKE GENERATOR C_COMPILER [arguments of unittest]
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "package")
BUILD = CMAKE = GENERATOR = COMPILER = ""
DEADLINE_S = 120
SYSTEM = ["-lstdc++", "-lm", "-lpthread", "-ldl"]


def output_of(*command, **options):
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         check=False, timeout=DEADLINE_S, **options)
    if ran.returncode != 0:
        raise AssertionError(f"{command}: {ran.returncode}\n{ran.stdout}")
    return ran.stdout


def setUpModule():
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    installed = os.path.join(folder.name, "installed")
    output_of(CMAKE, "--install", BUILD, "--prefix", installed)
    Case.folder, Case.prefix = folder.name, os.path.join(folder.name, "moved")
    os.rename(installed, Case.prefix)
    with open(os.path.join(Case.prefix, "include/nccl.h"), encoding="utf-8") as file:
        header = file.read()
    Case.version = ".".join(re.findall(r"#define NCCL_(?:MAJOR|MINOR|PATCH) (\d+)\n", header))
    Case.code = re.search(r"#define NCCL_VERSION_CODE (\d+)\n", header).group(1)


class Case(unittest.TestCase):
    def installed(self, *parts):
        return os.path.join(self.prefix, *parts)

    def assert_works(self, program, **options):
        self.assertEqual(output_of(program, **options), f"{self.code} 33 11\n")

    def needed(self, file):
        return re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", file))


class Tree(Case):
    def test_the_library_has_its_three_names(self):
        for name, target in (("libnccl.so", "libnccl.so.2"),
                             ("libnccl.so.2", f"libnccl.so.{self.version}")):
            self.assertEqual(os.readlink(self.installed("lib", name)), target)
        self.assertFalse(os.path.islink(self.installed(f"lib/libnccl.so.{self.version}")))

    def test_the_level_is_one_number_everywhere(self):
        major, minor, patch = map(int, self.version.split("."))
        self.assertEqual(int(self.code), major * 10000 + minor * 100 + patch)
        with open(self.installed("lib/pkgconfig/nccl.pc"), encoding="utf-8") as file:
            self.assertIn(f"Version: {self.version}\n", file.read())

    def test_strait_exec_finds_the_library_beside_it(self):
        if not os.path.exists(self.installed("bin/strait")):
            self.skipTest("the strait command was not built")
        out = output_of(self.installed("bin/strait"), "exec", "--", "printenv", "LD_PRELOAD")
        self.assertEqual(out, self.installed("lib/libnccl.so.2") + "\n")


class WithCMake(Case):
    def configure(self, name, *definitions, **options):
        """Where the programs are, and the variables that the project saw."""
        build = os.path.join(self.folder, name)
        shown = output_of(CMAKE, "-S", HERE, "-B", build, "-G", GENERATOR,
                          f"-DCMAKE_C_COMPILER={COMPILER}", *definitions, **options)
        return build, dict(re.findall(r"^(NCCL_\w+)=(.*)$", shown, re.MULTILINE))

    def assert_found(self, variables):
        include, library = self.installed("include"), self.installed("lib/libnccl.so")
        self.assertIn(variables.pop("NCCL_FOUND"), ("1", "TRUE"))
        self.assertEqual(variables, {
            "NCCL_VERSION": self.version, "NCCL_INCLUDE_DIR": include,
            "NCCL_INCLUDE_DIRS": include, "NCCL_LIBRARY": library, "NCCL_LIBRARIES": library})

    def test_our_package(self):
        targets = ["NCCL::nccl", "NCCL::NCCL", "nccl::nccl", "NCCL::nccl_static"]
        for name in ("NCCL", "nccl"):
            build, variables = self.configure(f"package_{name}", f"-DFIND={name}",
                                              f"-DCMAKE_PREFIX_PATH={self.prefix}",
                                              f"-DTARGETS={';'.join(targets)}")
            self.assert_found(variables)
        output_of(CMAKE, "--build", build)
        for target in ("variables", *targets):
            program = os.path.join(build, "user_" + target.replace(":", "_"))
            self.assert_works(program)
            self.assertEqual("libnccl.so.2" in self.needed(program), "static" not in target)

    def test_a_module_of_a_framework(self):
        definitions = ["-DFIND=NCCL", f"-DMODULES={HERE}"]
        environment = {**os.environ, "NCCL_HOME": self.prefix}
        for name, found_by, options in (
                ("root", [f"-DNCCL_ROOT={self.prefix}"], {}),
                ("root_dir", [f"-DNCCL_ROOT_DIR={self.prefix}"], {}),
                ("folders", [f"-DNCCL_INCLUDE_DIR={self.installed('include')}",
                             f"-DNCCL_LIB_DIR={self.installed('lib')}"], {}),
                ("home", [], {"env": environment})):
            with self.subTest(name):
                build, variables = self.configure(f"module_{name}", *definitions, *found_by,
                                                  **options)
                self.assert_found(variables)
        output_of(CMAKE, "--build", build)
        self.assert_works(os.path.join(build, "user_variables"))

    def test_a_newer_version_is_not_found(self):
        with open(os.path.join(HERE, "CMakeLists.txt"), encoding="utf-8") as file:
            project = file.read().replace(" 2.20 ", " 2.99 ")
        source = os.path.join(self.folder, "newer")
        os.makedirs(source)
        with open(os.path.join(source, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(project)
        with self.assertRaisesRegex(AssertionError, "2.99"):
            output_of(CMAKE, "-S", source, "-B", source + "_build", "-G", GENERATOR,
                      f"-DCMAKE_C_COMPILER={COMPILER}", "-DFIND=NCCL",
                      f"-DCMAKE_PREFIX_PATH={self.prefix}")


class WithCompiler(Case):
    def compile(self, name, *flags):
        program = os.path.join(self.folder, name)
        output_of(COMPILER, os.path.join(HERE, "two_ranks.c"), "-o", program, *flags)
        return program

    def test_pkg_config(self):
        if not shutil.which("pkg-config"):
            self.skipTest("pkg-config is not installed")
        environment = {**os.environ, "PKG_CONFIG_PATH": self.installed("lib/pkgconfig")}
        flags = output_of("pkg-config", "--cflags", "--libs", "nccl", env=environment).split()
        program = self.compile("by_pkg_config", *flags)
        self.assert_works(program, env={**os.environ, "LD_LIBRARY_PATH": self.installed("lib")})
        self.assertIn("libnccl.so.2", self.needed(program))

    def test_statically(self):
        flags = ["-I" + self.installed("include"), "-L" + self.installed("lib"), "-lnccl_static",
                 *SYSTEM]
        program = self.compile("static", *flags)
        self.assert_works(program)
        self.assertEqual([name for name in self.needed(program) if "nccl" in name], [])
        self.assert_works(self.compile("static_own_names", "-DOWN_NAMES", *flags))

    def test_the_archive_shows_only_the_api(self):
        shown = output_of("nm", "-g", "--defined-only", self.installed("lib/libnccl_static.a"))
        names = {line.split()[-1] for line in shown.splitlines() if len(line.split()) == 3}
        dynamic = output_of("nm", "-D", "--defined-only", self.installed("lib/libnccl.so.2"))
        self.assertEqual(names, {line.split()[-1] for line in dynamic.splitlines()})


if __name__ == "__main__":
    BUILD, CMAKE, GENERATOR, COMPILER = (sys.argv.pop(1) for _ in range(4))
    unittest.main()
