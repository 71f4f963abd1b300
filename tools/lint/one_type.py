"""A type's name stands for one type: two that are called the same in one namespace share constructors once they are linked, whatever
headers their users include (the one-definition rule, which no compiler and no linker checks). Unnamed namespaces are free."""

import collections
import pathlib
import re

import functions
import layers

SUFFIXES = (".cpp", ".h")
TOKEN = re.compile(r"namespace(?:\s+(?P<space>[\w:]+))?\s*\{"
                   r"|\b(?:struct|class|union)\s+(?:\[\[\w+\]\]\s*)*(?P<type>\w+)(?:\s+final)?\s*(?::(?!:)[^;{}()]*)?\{"
                   r"|[{}]")


def types(text: str):
    """(name with its namespaces, line) of each type that a namespace with a name defines."""
    text = functions.visible(text)
    open_spaces: list[str] = []
    braces: list[bool] = []  # is it a namespace's?
    for match in TOKEN.finditer(text):
        if match[0] == "}":
            if braces and braces.pop():
                open_spaces.pop()
            continue
        space = match[0].startswith("namespace")
        if match["type"] and all(braces) and "" not in open_spaces:
            yield "::".join([*open_spaces, match["type"]]), text.count("\n", 0, match.start()) + 1
        if space:
            open_spaces.append(match["space"] or "")
        braces.append(space)


def check(root: pathlib.Path) -> tuple[list[str], list[str]]:
    places = collections.defaultdict(list)
    for file in sorted(p for p in (root / "src").rglob("*") if p.suffix in SUFFIXES and p.is_file()):
        path = file.relative_to(root).as_posix()
        if layers.TEST_ONLY.search(path):  # linked with a few others
            continue
        for name, line in types(file.read_text(errors="replace")):
            places[name].append(f"{path}:{line}")
    errors = []
    for name, found in places.items():
        for place in found[1:]:
            errors.append(f"{place}: one_type: {name} is defined at {found[0]} as well")
    return errors, []
