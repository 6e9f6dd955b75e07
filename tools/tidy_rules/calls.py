"""Calls and words of C++ that have a better replacement here."""

import re
from dataclasses import dataclass

from .tree import Finding


def _call(names):
    """A call of a free function, also through std:: or ::, but no member of that name."""
    return rf"(?<![\w.>:])(?:std::|::)?(?:{names})\s*\("


@dataclass(frozen=True)
class Ban:
    name: str
    pattern: re.Pattern
    remedy: str
    library_only: bool = False
    except_in: tuple = ()


def _ban(name, pattern, remedy, **where):
    return Ban(name, re.compile(pattern), remedy, **where)


BANS = (
    _ban("unbounded-copy", _call("strcpy|strcat|sprintf|vsprintf|gets"),
         "build a std::string with fmt::format, or use snprintf with the size"),
    _ban("random", _call("rand|srand|drand48|lrand48"),
         "use an engine of <random> with a seed that is written down"),
    _ban("shell", _call("system|popen"), "start the program itself with posix_spawn"),
    _ban("number-parsing", _call("atoi|atol|atoll|atof|strtok|stoi|stol|stoll|stod"),
         "use base/units.hpp or std::from_chars, which refuse what is not a number"),
    _ban("sleep", _call("usleep|sleep|nanosleep"),
         "wait on a Doorbell or poll with a Deadline, so that an abort wakes it",
         library_only=True, except_in=("src/base/device_thread.cuh",)),
    _ban("endl", r"\bstd::endl\b", r"write '\n'; flush where it matters"),
    _ban("assert", _call("assert"), "STRAIT_CHECK(condition, why), which stays on in release"),
    _ban("goto", r"\bgoto\b", "return early, or name the block as a function"),
    _ban("using-namespace", r"\busing\s+namespace\s+std\b", "write std::, or name what is used"),
    _ban("throw", r"\bthrow\b", "return a Status with cause, place and remedy",
         library_only=True),
    _ban("print", _call("printf|fprintf|vprintf|puts|fputs|putchar") + r"|\bstd::c(?:out|err)\b",
         "log_warn or log_info of base/log.hpp", library_only=True,
         except_in=("src/base/status.cpp",)),
    _ban("exit", _call("exit|_exit|quick_exit|_Exit"),
         "return a Status; the program that called us decides when to end", library_only=True),
    _ban("environment", _call("getenv|secure_getenv|setenv|putenv"),
         "add a row to src/base/config.def and read the Config", library_only=True,
         # UCX hears what it is told while it is opened from its environment alone.
         except_in=("src/base/config.cpp", "transport/ucx/calls.cpp")),
    _ban("new", r"(?<!operator )(?<!\w)new\s+[\w:]", "std::make_unique, or a container",
         library_only=True),
    _ban("delete", r"(?<![=\w] )(?<!operator )\bdelete\b(?:\s*\[\s*\])?\s+[\w(*:]",
         "let std::unique_ptr own it", library_only=True),
)


# A value that is never destroyed, on purpose, and a constructor that make_unique cannot reach.
_OWNED = re.compile(r"\bstatic\b|_ptr<[^;]*\(\s*new\b")


def banned(tree):
    for source in tree.cpp:
        for number, line in enumerate(source.code.split("\n"), 1):
            for ban in BANS:
                if source.path in ban.except_in or (ban.library_only and not source.in_library):
                    continue
                if not ban.pattern.search(line) or (ban.name == "new" and _OWNED.search(line)):
                    continue
                yield Finding(source.path, number, ban.name, ban.remedy)


_ATOMIC = re.compile(r"\bstd::atomic(?:<|_)[^;()&*]*>?\s+\w+\s*(?:[{=;\[]|$)")


def atomic_partner(tree):
    """Each atomic says who else uses it: "partner" beside it, or in a comment a few lines above."""
    for source in tree.cpp:
        if not source.in_library:
            continue
        for number, line in enumerate(source.code.split("\n"), 1):
            if not _ATOMIC.search(line):
                continue
            end = number
            while end < len(source.lines) and ";" not in source.lines[end - 1]:
                end += 1
            above = source.lines[max(0, number - 6):number - 1]
            near = source.lines[number - 1:end] + [t for t in above if t.lstrip().startswith("//")]
            if not any("partner" in text.lower() for text in near):
                yield Finding(source.path, number, "atomic-partner",
                              'say in a comment who stores and who loads ("partner: ...")')


RULES = (banned, atomic_partner)
