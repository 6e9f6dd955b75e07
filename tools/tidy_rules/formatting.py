"""clang-format, where the version is there whose layout the tree has."""

import re
import shutil
import subprocess

from .tree import Finding

VERSION = "14."  # other versions lay out some lines in other ways


def available():
    program = shutil.which("clang-format")
    if program is None:
        return False
    told = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=False)
    return f"version {VERSION}" in told.stdout


def layout(tree):
    paths = [source.path for source in tree.cpp]
    if tree.root is None or not paths or not available():
        return
    run = subprocess.run(["clang-format", "--dry-run", "-Werror", *paths], cwd=tree.root,
                         stderr=subprocess.PIPE, text=True, check=False)
    seen = set()
    for path, line in re.findall(r"^([^\s:]+):(\d+):\d+: error:", run.stderr, re.MULTILINE):
        if path not in seen:  # one line per file: the remedy is the same for all
            seen.add(path)
            yield Finding(path, int(line), "layout", f"clang-format -i {path}")


RULES = (layout,)
