"""The tree of files under test: read once, with comments and strings told from code."""

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property

CPP = (".h", ".hpp", ".cpp", ".c", ".cu", ".cuh")
HEADERS = (".h", ".hpp", ".cuh")
LIBRARY = ("src/", "topology/", "codec/", "transport/", "include/")

# What is not code: comments, and literals (raw ones first, they may hold anything).
_NOT_CODE = re.compile(
    r'(?P<raw>R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)")'
    r'|(?P<line>//(?:[^\n\\]|\\.)*)'
    r'|(?P<block>/\*.*?\*/)'
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<char>(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+')",
    re.DOTALL)


def _blank(text):
    return "".join(c if c == "\n" else " " for c in text)


def code_only(text):
    """The text with comments and the insides of literals blanked; nothing moves."""
    def replace(match):
        found = match.group(0)
        if match.lastgroup in ("line", "block"):
            return _blank(found)
        return found[0] + _blank(found[1:-1]) + found[-1]
    return _NOT_CODE.sub(replace, text)


def _without_directives(code):
    """Preprocessor lines blanked, continuation lines too: their braces need not match."""
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: _blank(m.group(0)), code,
                  flags=re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    remedy: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.remedy}"


@dataclass
class Source:
    path: str
    text: str

    @cached_property
    def lines(self):
        return self.text.split("\n")[:-1] if self.text.endswith("\n") else self.text.split("\n")

    @cached_property
    def code(self):
        return code_only(self.text)

    @cached_property
    def bare_code(self):
        return _without_directives(self.code)

    @property
    def name(self):
        return os.path.basename(self.path)

    @property
    def is_cpp(self):
        return self.path.endswith(CPP)

    @property
    def is_header(self):
        return self.path.endswith(HEADERS)

    @property
    def in_library(self):
        return self.path.startswith(LIBRARY)

    @property
    def is_python(self):
        return self.path.endswith(".py") or self._shebang_names("python")

    @property
    def is_script(self):
        return self.is_python or self.path.endswith(".sh") or self._shebang_names("sh")

    def _shebang_names(self, word):
        first = self.text.split("\n", 1)[0]
        return first.startswith("#!") and word in first

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1


class Tree:
    """Sources by path. `root` is None for a tree that a test made up."""

    def __init__(self, texts, root=None):
        self.root = root
        self.sources = {path: Source(path, text) for path, text in sorted(texts.items())}

    def __iter__(self):
        return iter(self.sources.values())

    @property
    def cpp(self):
        return [source for source in self if source.is_cpp]

    @classmethod
    def read(cls, root):
        texts = {}
        for path in _listed(root):
            try:
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    texts[path] = file.read()
            except (UnicodeDecodeError, FileNotFoundError):
                continue  # data, or deleted but not yet committed
        return cls(texts, root)


def _listed(root):
    """Paths of the project: what git knows or would add; without git, all but build folders."""
    if os.path.exists(os.path.join(root, ".git")):
        listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                                stdout=subprocess.PIPE, check=False)
        if listed.returncode == 0:
            return [path for path in listed.stdout.decode().split("\0") if path]
    paths = []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith("build") and f != "__pycache__"
                      and (not f.startswith(".") or f == ".ci")]
        paths += [os.path.relpath(os.path.join(folder, file), root) for file in files]
    return paths
