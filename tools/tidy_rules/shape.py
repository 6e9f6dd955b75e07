"""The shape of the tree: what lies at the top, a README per folder, how a header opens."""

import re

from .includes import FOLDERS
from .tree import Finding

README_LINES = 60
README_ANY_LENGTH = {"README.md", "codec/README.md"}  # the front door; the format of a chunk
GENERATED = re.compile(r"<!-- begin generated.*?<!-- end generated[^\n]*-->", re.DOTALL)

TOP_LEVEL = {
    "CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "include", "src", "transport",
    "codec", "topology", "tests", "perf", "tools",
}

_OPENING = re.compile(r"\A(?:(?://[^\n]*\n)+|/\*.*?\*/[ \t]*\n)", re.DOTALL)
_GUARD = re.compile(r"^[ \t]*#[ \t]*(?:pragma[ \t]+once|ifndef[ \t]+\w+)", re.MULTILINE)


def header_paragraph(tree):
    for source in tree:
        if not source.is_header:
            continue
        opening = _OPENING.match(source.text)
        if not opening or opening.group().count("\n") < 2:
            yield Finding(source.path, 1, "header-paragraph",
                          "open with two or more comment lines: what it is, who owns it, which "
                          "threads may call it, what it costs")
        if not _GUARD.search(source.code):
            yield Finding(source.path, 1, "header-guard", "add #pragma once after the paragraph")


def readme_there(tree):
    for folder in FOLDERS:
        has_files = any(source.path.startswith(folder) for source in tree)
        if has_files and f"{folder}README.md" not in tree.sources:
            yield Finding(f"{folder}README.md", 1, "folder-readme",
                          "write it: one sentence, the interface, how to add one, dated decisions")


def readme_length(tree):
    for source in tree:
        if source.name != "README.md" or source.path in README_ANY_LENGTH:
            continue
        written = GENERATED.sub("", source.text).count("\n")
        if written > README_LINES:
            yield Finding(source.path, README_LINES + 1, "readme-length",
                          f"{written} lines; keep it to one screen, {README_LINES}")


def top_level(tree):
    entries = sorted({source.path.split("/")[0] for source in tree})
    for entry in entries:
        if entry not in TOP_LEVEL and not entry.startswith("."):
            yield Finding(entry, 1, "top-level", "move it into the folder that it belongs to")


RULES = (header_paragraph, readme_there, readme_length, top_level)
