"""A type's name stands for one type: two that are called the same in one namespace share constructors once they are linked, whatever
headers their users include (the one-definition rule, which no compiler and no linker checks). Unnamed namespaces are free."""

import collections
import pathlib
import re

SUFFIXES = (".cpp", ".h")
FREE = re.compile(r"_(test|bench|fuzz)\.cpp$|(^|/)testing(/|_)|_testing\.h$")  # linked with a few others
IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.S | re.M)
TOKEN = re.compile(r"namespace(?:\s+(?P<space>[\w:]+))?\s*\{"
                   r"|\b(?:struct|class|union)\s+(?:\[\[\w+\]\]\s*)*(?P<type>\w+)(?:\s+final)?\s*(?::(?!:)[^;{}()]*)?\{"
                   r"|[{}]")


def types(text: str):
    """(name with its namespaces, offset) of each type that a namespace with a name defines."""
    text = IGNORED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    open_spaces: list[str] = []
    braces: list[bool] = []  # is it a namespace's?
    for match in TOKEN.finditer(text):
        if match[0] == "}":
            if braces and braces.pop():
                open_spaces.pop()
            continue
        space = match[0].startswith("namespace")
        if match["type"] and all(braces) and "" not in open_spaces:
            yield "::".join([*open_spaces, match["type"]]), match.start()
        if space:
            open_spaces.append(match["space"] or "")
        braces.append(space)


def check(root: pathlib.Path) -> tuple[list[str], list[str]]:
    places = collections.defaultdict(list)
    for file in sorted(p for p in (root / "src").rglob("*") if p.suffix in SUFFIXES and p.is_file()):
        path = file.relative_to(root).as_posix()
        if FREE.search(path):
            continue
        text = file.read_text(errors="replace")
        for name, at in types(text):
            places[name].append(f"{path}:{text.count(chr(10), 0, at) + 1}")
    errors = []
    for name, found in places.items():
        for place in found[1:]:
            errors.append(f"{place}: one_type: {name} is defined at {found[0]} as well")
    return errors, []
