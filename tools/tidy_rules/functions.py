"""Finds the functions of a C++ file by its braces alone, without a compiler."""

import re
from dataclasses import dataclass

_ACCESS = re.compile(r"\s*(?:public|private|protected)\s*:(?!:)")
_REQUIRES = re.compile(r"^requires\s*\((?:[^()]|\([^()]*\))*\)")
_TYPE = re.compile(r"^(?:typedef\s+)?(?:class|struct|union|enum)\b")
_LAMBDA = re.compile(r"\[[^\[\]]*\]\s*(?:<[^<>]*>\s*)?(?:\(.*\))?[\w\s:<>&*,-]*$", re.DOTALL)
_MEMBER_BRACE = re.compile(r"\)[\w\s]*:(?!:).*[\w>]\s*$", re.DOTALL)


@dataclass(frozen=True)
class Function:
    name: str
    first_line: int
    last_line: int

    @property
    def length(self):
        return self.last_line - self.first_line + 1


def _strip_groups(head, opening, closing):
    """The text without what stands between matching brackets."""
    depth, kept = 0, []
    for c in head:
        if c == opening:
            depth += 1
        elif c == closing:
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(c)
    return "".join(kept)


def _without_templates(head):
    """Drops leading `template <...>`, whose default arguments look like initialisers."""
    while match := re.match(r"\s*template\s*<", head):
        depth, at = 1, match.end()
        while at < len(head) and depth > 0:
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
        head = head[at:]
    return _REQUIRES.sub("", head.strip()).strip()


def _kind(head):
    """What a brace at namespace or class scope opens: scope, type, function or value."""
    head = _without_templates(head)
    if head.count("(") > head.count(")"):
        return "value"  # a default argument
    if re.match(r"(?:inline\s+)?namespace\b", head) or re.match(r'extern\s*"', head):
        return "scope"
    plain = re.sub(r"\b(?:alignas|__attribute__|decltype|noexcept|explicit|requires)\s*(?=\()", "",
                   re.sub(r"\[\[.*?\]\]", "", head))
    if _TYPE.match(plain):
        bare = re.sub(r"^((?:typedef\s+)?\w+(?:\s+class)?)\s*\([^()]*\)", r"\1", plain)
        return "function" if "(" in bare else "scope"
    flat = _strip_groups(re.sub(r"\boperator\s*(?:\(\)|\[\]|[^\w\s(]+)", "operator_", plain),
                         "(", ")")
    if _LAMBDA.search(plain):
        return "function"
    if "=" in flat or "(" not in plain:
        return "value"
    if _MEMBER_BRACE.search(plain):
        return "value"
    return "function"


def _name(head):
    head = _without_templates(head)
    match = re.search(r"([~\w:]+|operator\s*\S+)\s*\(([^()]*)", head)
    if not match:
        return "lambda"
    test = re.match(r"(?:TEST|TEST_F|TEST_P|TYPED_TEST)$", match.group(1))
    return f"{match.group(1)}({' '.join(match.group(2).split())})" if test else match.group(1)


def functions_of(source):
    """Every function with a body; a lambda counts for the function that holds it."""
    code = source.bare_code
    found, stack = [], []
    head_start = 0
    for at, c in ((m.start(), m.group()) for m in re.finditer(r"[{};]", code)):
        inside = stack[-1][0] if stack else "scope"
        if c == "{":
            while access := _ACCESS.match(code, head_start, at):
                head_start = access.end()
            head = code[head_start:at]
            kind = _kind(head) if inside == "scope" else "inner"
            first = head_start + len(head) - len(head.lstrip())
            stack.append((kind, first, head))
            if inside == "scope" and kind != "value":
                head_start = at + 1
        elif c == "}":
            kind, first, head = stack.pop() if stack else ("scope", at, "")
            if kind == "function":
                found.append(Function(_name(head), source.line_of(first), source.line_of(at)))
            if kind in ("function", "scope"):
                head_start = at + 1
        elif inside == "scope" and code.count("(", head_start, at) <= code.count(")", head_start,
                                                                                 at):
            head_start = at + 1
    return found
