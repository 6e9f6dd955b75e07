"""Who may include whom: the layers, and no circles."""

import os
import re

from .tree import Finding

# Longest prefix first where one holds another.
FOLDERS = {
    "src/base/": "base", "src/plan/": "plan", "src/exec/": "exec", "src/comm/": "comm",
    "src/api/": "api", "topology/": "topology", "codec/": "codec", "transport/": "transport",
    "include/": "include", "tests/": "tests", "perf/": "perf", "tools/": "tools",
}

MATRIX = {
    "base": {"base"},
    "topology": {"base", "topology"},
    "codec": {"base", "codec"},
    "transport": {"base", "transport"},
    "plan": {"base", "topology", "plan"},
    "exec": {"base", "codec", "transport", "plan", "exec"},
    "comm": {"base", "topology", "codec", "transport", "plan", "exec", "comm"},
    "api": {"base", "comm", "api", "include"},
    "include": {"include"},
}
EXCEPTIONS = {("api", "src/plan/request.hpp")}

# A planner is a pure function: nothing it includes may wait, look at a machine or at a clock.
PLAN_ABSENT = re.compile(
    r"^(?:thread|mutex|condition_variable|atomic|future|chrono|ctime|unistd\.h|fcntl\.h|cuda.*|"
    r"sys/.*|netinet/.*|arpa/.*|base/(?:clock|doorbell|reactor|fd)\.hpp)$")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def folder_of(path):
    return next((name for prefix, name in FOLDERS.items() if path.startswith(prefix)), None)


def resolve(tree, source, name):
    """The file of the tree that `#include name` means, or None for what lies outside."""
    candidates = [f"{root}{name}" for root in ("src/", "", "include/", "tests/")]
    candidates.append(os.path.normpath(os.path.join(os.path.dirname(source.path), name)))
    return next((c for c in candidates if c in tree.sources), None)


def includes_of(tree, source):
    """(line, name as written, path in the tree or None) of each include."""
    code = source.code
    for match in INCLUDE.finditer(source.text):
        if code[match.start():match.end()].strip():
            yield source.line_of(match.start(2)), match.group(2), resolve(tree, source,
                                                                         match.group(2))


def matrix(tree):
    for source in tree.cpp:
        folder = folder_of(source.path)
        if folder not in MATRIX:
            continue
        for line, name, path in includes_of(tree, source):
            target = folder_of(path) if path else None
            allowed = target in MATRIX[folder] or (folder, path) in EXCEPTIONS
            if target is not None and not allowed:
                yield Finding(source.path, line, "layers",
                              f"{folder} must not know {target} ({name}); pass what it needs as a "
                              f"value, or move the code to a folder that may")


def plan_is_pure(tree):
    for source in tree.cpp:
        if folder_of(source.path) != "plan":
            continue
        for line, name, _ in includes_of(tree, source):
            if PLAN_ABSENT.match(name):
                yield Finding(source.path, line, "plan-is-pure",
                              f"<{name}>: plans know no CUDA, socket, thread or clock; take a "
                              f"value instead")


def rooted(tree):
    """Library files name what they include from the root of the sources, never by `../`."""
    for source in tree.cpp:
        if not source.in_library:
            continue
        for line, name, path in includes_of(tree, source):
            if path and path not in (f"src/{name}", name, f"include/{name}"):
                yield Finding(source.path, line, "include-path",
                              f'write "{path.removeprefix("src/")}" in place of "{name}"')


def cycles(tree):
    """One finding for each circle, at the include that closes it."""
    state, trail = {}, []

    def visit(path):
        state[path] = "open"
        trail.append(path)
        for line, _, target in includes_of(tree, tree.sources[path]):
            if target is None or not tree.sources[target].is_cpp:
                continue
            if state.get(target) == "open":
                circle = trail[trail.index(target):] + [target]
                yield Finding(path, line, "include-cycle",
                              f"{' -> '.join(circle)}; move what both need to a third header")
            elif target not in state:
                yield from visit(target)
        trail.pop()
        state[path] = "done"

    for source in tree.cpp:
        if source.path not in state:
            yield from visit(source.path)


RULES = (matrix, plan_is_pure, rooted, cycles)
