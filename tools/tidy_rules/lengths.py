"""How long files, functions and lines may be."""

import ast

from .functions import functions_of
from .tree import Finding

FILE_LINES = 400
FUNCTION_LINES = 70
COLUMNS = 100


def _is_code(source):
    return source.is_cpp or source.is_script


def file_length(tree):
    for source in filter(_is_code, tree):
        if len(source.lines) > FILE_LINES:
            yield Finding(source.path, FILE_LINES + 1, "file-length",
                          f"{len(source.lines)} lines; split by idea into files of at most "
                          f"{FILE_LINES}")


def columns(tree):
    for source in filter(_is_code, tree):
        for number, line in enumerate(source.lines, 1):
            if len(line) > COLUMNS:
                yield Finding(source.path, number, "columns",
                              f"{len(line)} columns; wrap at {COLUMNS}"
                              f"{' (clang-format -i)' if source.is_cpp else ''}")


def _python_functions(source):
    try:
        parsed = ast.parse(source.text)
    except SyntaxError as error:
        yield "", error.lineno or 1, None
        return
    for node in ast.walk(parsed):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def _lengths(source):
    if source.is_python:
        yield from _python_functions(source)
    elif source.is_cpp:
        for function in functions_of(source):
            yield function.name, function.first_line, function.length


def function_length(tree):
    for source in tree:
        for name, line, length in _lengths(source):
            if length is None:
                yield Finding(source.path, line, "function-length", "make it parse as Python 3")
            elif length > FUNCTION_LINES:
                yield Finding(source.path, line, "function-length",
                              f"{name} has {length} lines; name its parts, at most "
                              f"{FUNCTION_LINES} each")


RULES = (file_length, columns, function_length)
