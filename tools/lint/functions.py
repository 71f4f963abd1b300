"""Functions stay short enough to be seen whole: an error above 60 lines, unless `Why so long:` and the reason stand inside it or just
before it; at most 12 may have a reason. Asked of src, python and tools, not of tests."""

import ast
import functools
import pathlib
import re

LIMIT, EXCUSED = 60, 12
FOLDERS = ("src", "python", "tools")
SUFFIXES = {".cpp", ".h", ".cu", ".cuh", ".py"}
TEST_NAME = re.compile(r"(_test|_testing|_cases|_bench|_fuzz)\.(cpp|h|py)$|(^|/)test_[^/]*\.py$|/testing/")
REASON = "Why so long:"

# What hides braces and quotes: raw strings, comments, strings, characters (a digit separator is none), preprocessor lines.
_OPAQUE = re.compile(
    r'R"(?P<d>[^()\\\s]{0,16})\(.*?\)(?P=d)"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.S
)
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
_TEMPLATE = re.compile(r"\s*template\s*<[^;{}]*?>(?=\s*\w)")
_SCOPE = re.compile(r"\s*(?:inline\s+)?(namespace|class|struct|enum|union|extern)\b")
_VARIABLE = re.compile(r"=\s*$|^\s*(?:\w+\s+)*\w[\w:<>,&* ]*\s+\w+\s*=")
_ACCESS = re.compile(r"^\s*(?:public|private|protected)\s*:")
_MARK = re.compile(r"[(){};]")


def _newlines(match: re.Match) -> str:
    return "\n" * match.group().count("\n")


@functools.lru_cache(maxsize=None)  # several rules read the same files
def visible(text: str) -> str:
    """The text without comments, strings, characters and preprocessor lines. Lines stay where they are."""
    return _PREPROCESSOR.sub(_newlines, _OPAQUE.sub(_newlines, text))


def opens(head: str) -> str:
    """What a brace at namespace or class level opens, by the text before it: a function, a scope, or data."""
    head = _TEMPLATE.sub("", head)
    if not head.strip() or _SCOPE.match(head):
        return "scope"
    plain = re.sub(r"\([^()]*\)", "()", re.sub(r"\([^()]*\)", "()", head))
    return "function" if "(" in plain and not _VARIABLE.search(plain) else "data"


def cpp_functions(text: str):
    """(first line, last line) of each function at namespace or class level."""
    text = visible(text)
    braces = []  # (what it opened, the first line of that)
    depth, start, seen, line = 0, 0, 0, 1
    for mark in _MARK.finditer(text):
        at, c = mark.start(), mark.group()
        line += text.count("\n", seen, at)
        seen = at
        if c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
        elif c == "{":
            if depth > 0 or braces and braces[-1][0] != "scope":
                braces.append(("inner", line))
            else:
                head = _ACCESS.sub("", text[start:at])
                braces.append((opens(head), line - head.lstrip().count("\n")))
            start = at + 1
        elif c == "}":
            if braces:
                what, first = braces.pop()
                if what == "function":
                    yield first, line
            start = at + 1
        elif depth == 0:
            start = at + 1


def python_functions(text: str):
    """(first line, last line) of each function, also of those inside of others."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno


def long_functions(path: str, text: str) -> tuple[list[str], list[str]]:
    """(findings, those with a reason) of one file."""
    found, excused = [], []
    lines = text.split("\n")
    if len(lines) <= LIMIT:
        return found, excused
    for first, last in (python_functions if path.endswith(".py") else cpp_functions)(text):
        length = last - first + 1
        if length <= LIMIT:
            continue
        reason = any(REASON in line for line in lines[max(0, first - 6) : last])
        (excused if reason else found).append(f"{path}:{first}: function: {length} lines, the limit is {LIMIT}: split it")
    return found, excused


def check(root: pathlib.Path) -> tuple[list[str], list[str]]:
    errors, excused = [], []
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.suffix not in SUFFIXES or TEST_NAME.search(path):
                continue
            found, reasons = long_functions(path, file.read_text(errors="replace"))
            errors += found
            excused += reasons
    if len(excused) > EXCUSED:
        places = ", ".join(e.split(": ")[0] for e in excused)
        errors.append(
            f"tools/lint/functions.py:1: function: {len(excused)} long functions have a reason, at most {EXCUSED} may: {places}"
        )
    return errors, []
