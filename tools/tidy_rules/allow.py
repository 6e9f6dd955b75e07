"""The allow-list: files that may still break a rule. It only shrinks; stale entries are errors."""

from .tree import Finding

PATH = "tools/tidy_allow.txt"


def parse(text):
    """{(rule, path): line number} of lines like `file-length src/plan/ring.cpp`."""
    entries = {}
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split("#", 1)[0].split()
        if words:
            entries[tuple(words)] = number
    return entries


def apply(findings, text):
    """The findings that nothing allows, and one for each entry that allows nothing."""
    entries = parse(text)
    kept, used = [], set()
    for finding in findings:
        entry = (finding.rule, finding.path)
        if entry in entries:
            used.add(entry)
        else:
            kept.append(finding)
    stale = [Finding(PATH, line, "stale-entry", f"remove \"{' '.join(entry)}\": nothing needs it")
             for entry, line in entries.items() if entry not in used]
    return kept + stale
