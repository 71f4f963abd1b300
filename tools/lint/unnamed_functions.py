"""A function in an unnamed namespace has another name than those that a header, which its file reads, declares for the same
arguments in a namespace around it: which one a call means would be open. Files that are compiled together get other names for such
functions (cmake/unity_groups.py), so that only a build of each file by itself would say it. Functions of other arguments may share
a name."""

import collections
import pathlib
import re
import typing

import functions
import layers

MARK = re.compile(r"namespace(?:\s+(?P<space>[\w:]+))?\s*\{|[{};()]")
NO_FUNCTION = re.compile(r"\s*(?:using|typedef|class|struct|enum|union|static_assert|return|extern)\b")
WORD = re.compile(r"\w+|::|\S")
QUALIFIERS = {"const", "volatile", "constexpr", "&", "[", "]", "maybe_unused"}


class Function(typing.NamedTuple):
    name: str
    spaces: tuple[str, ...]  # those around it, "" for one without a name
    types: tuple[str, ...]  # of its parameters
    needed: int  # so many have no value of their own
    line: int


def statements(text: str):
    """(namespaces around it, text, where it begins) of what stands in namespaces: up to a semicolon, or to the braces of a body."""
    spaces: list[str] = []
    braces: list[bool] = []  # is it a namespace's?
    depth = start = inner = 0
    for mark in MARK.finditer(text):
        c = mark.group()
        if c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
        elif c[0] == "n":
            spaces += (mark["space"] or "").split("::")
            braces.append(len((mark["space"] or "").split("::")))
            start = mark.end()
        elif c == "{":
            if inner == depth == 0:
                yield tuple(spaces), text[start : mark.start()], start
            braces.append(0)
            inner += 1
        elif c == "}" and braces:
            count = braces.pop()
            inner -= count == 0
            del spaces[len(spaces) - count :]
            start = mark.end()
        elif c == ";" and inner == depth == 0:
            yield tuple(spaces), text[start : mark.start()], start
            start = mark.end()


def split(text: str) -> list[str]:
    """At commas that no bracket is around."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "(<[{") - (c in ")>]}")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part for part in parts if part.strip()]


def type_of(parameter: str) -> str:
    """Without its name, and without what makes no difference to who calls."""
    words = [word for word in WORD.findall(parameter.split("=")[0]) if word not in QUALIFIERS]
    if len(words) > 1 and words[-1].isidentifier() and words[-2] != "::":
        words.pop()
    return "".join(words)


def function_of(spaces: tuple[str, ...], head: str, line: int) -> Function | None:
    """What a statement declares, if that is a function with a plain name."""
    head = functions._TEMPLATE.sub("", head)
    if "(" not in head or NO_FUNCTION.match(head):
        return None
    depth = 0
    for mark in re.finditer(r"[<>=]|(\w+)\s*\(", head):
        if mark[0] == "=":
            return None  # a value
        depth += (mark[0] == "<") - (mark[0] == ">")
        if mark[1] is None or depth > 0:
            continue
        before = head[: mark.start()].rstrip()
        if not before or before.endswith("::") or mark[1] == "operator":
            return None
        end, open_ = mark.end(), 1
        while end < len(head) and open_ > 0:
            open_ += (head[end] == "(") - (head[end] == ")")
            end += 1
        parameters = split(head[mark.end() : end - 1])
        needed = sum("=" not in p for p in parameters)
        return Function(mark[1], spaces, tuple(type_of(p) for p in parameters), needed, line)
    return None


def declared(text: str):
    text = functions.visible(text)
    for spaces, head, at in statements(text):
        made = function_of(spaces, head, 0)
        if made is not None:
            head = head[: len(head) - len(head.lstrip())]
            yield made._replace(line=text.count("\n", 0, at + len(head)) + 1)


def same_arguments(a: Function, b: Function) -> bool:
    """Is there a call that could mean either?"""
    count = max(a.needed, b.needed)
    return count <= min(len(a.types), len(b.types)) and a.types[:count] == b.types[:count]


class Headers:
    """What the headers under src/ declare in namespaces with names, and what a file reads."""

    def __init__(self, src: pathlib.Path):
        self.src = src
        self.by_name: dict[str, list[tuple[str, Function]]] = collections.defaultdict(list)
        self.known: dict[str, set[str]] = {}
        for file in sorted(src.rglob("*.h")):
            path = file.relative_to(src).as_posix()
            for function in declared(file.read_text(errors="replace")):
                if "" not in function.spaces:
                    self.by_name[function.name].append((path, function))

    def read_by(self, path: str) -> set[str]:
        """All that the file includes, and what these include."""
        found: set[str] = set()
        ahead = [path]
        while ahead:
            for name in self.includes(ahead.pop()) - found:
                found.add(name)
                ahead.append(name)
        return found

    def includes(self, path: str) -> set[str]:
        if path not in self.known:
            names = layers.INCLUDE.findall((self.src / path).read_text(errors="replace"))
            self.known[path] = {name for name in names if (self.src / name).is_file()}
        return self.known[path]


def check(root: pathlib.Path) -> tuple[list[str], list[str]]:
    src, errors = root / "src", []
    headers = Headers(src)
    for file in sorted(src.rglob("*.cpp")):
        path, read = file.relative_to(src).as_posix(), None
        for own in declared(file.read_text(errors="replace")):
            if "" not in own.spaces:
                continue
            around = own.spaces[: own.spaces.index("")]
            for header, other in headers.by_name.get(own.name, ()):
                if other.spaces != around[: len(other.spaces)] or not same_arguments(own, other):
                    continue
                read = headers.read_by(path) if read is None else read
                if header in read:
                    errors.append(f"src/{path}:{own.line}: unnamed_functions: {own.name} is declared for the same arguments "
                                  f"in src/{header}:{other.line}, which is read here: another name")
    return errors, []
