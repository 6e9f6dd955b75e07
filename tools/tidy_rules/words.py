"""Words that have no place in any file, and names that say nothing."""

import os
import re

from .tree import Finding

# Spelt in pieces, so that this file passes its own rule.
_LATER = re.compile(r"\b(?:TO" + "DO|FIX" + "ME|X" + "XX|HA" + "CK)\\b")
_STRAY = (
    (re.compile(r"(?<![\w.])/wo" + r"rk/"), "name paths from the root of the project"),
    (re.compile(r"\bthis ses" + r"sion\b", re.IGNORECASE), "speak of the project alone"),
    (re.compile(r"\biss" + r"ue #\d", re.IGNORECASE), "say the reason itself, not its number"),
    (re.compile(r"\bsub-?ag" + r"ents?\b", re.IGNORECASE), "speak of the project alone"),
)

EMPTY_NAMES = {"utils", "util", "common", "misc", "helpers", "helper", "manager", "impl"}


def later(tree):
    for source in tree:
        for number, line in enumerate(source.lines, 1):
            if _LATER.search(line):
                yield Finding(source.path, number, "unfinished",
                              "finish it, or leave it out and say so in the folder's README")


def stray(tree):
    for source in tree:
        for number, line in enumerate(source.lines, 1):
            for pattern, remedy in _STRAY:
                if pattern.search(line):
                    yield Finding(source.path, number, "stray-word", remedy)


def names(tree):
    for source in tree:
        parts = [os.path.splitext(part)[0] for part in source.path.split("/")]
        for word in (word for part in parts for word in part.split("_")):
            if word in EMPTY_NAMES:
                yield Finding(source.path, 1, "file-name",
                              f'"{word}" says nothing; name the file after the one idea in it')
        if source.is_cpp and not re.fullmatch(r"[a-z0-9_]+\.\w+", source.name):
            yield Finding(source.path, 1, "file-name", "use small letters, digits and _")


RULES = (later, stray, names)
