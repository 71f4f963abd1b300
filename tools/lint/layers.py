"""The include graph of layers.txt: who may include whom under src/."""

import dataclasses
import pathlib
import re

INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)
TEST_ONLY = re.compile(r"_(test|bench|fuzz)\.(cpp|h|cu)$|(^|/)testing(/|_)|_testing\.h$")
SOURCES = (".cpp", ".h", ".cu", ".cuh", ".inc", ".def")


@dataclasses.dataclass
class Layer:
    name: str
    allowed: set[str]
    test_allowed: set[str]


def read(root: pathlib.Path) -> tuple[dict[str, Layer], list[str]]:
    """The table and what is wrong with the table itself."""
    table: dict[str, Layer] = {}
    errors = []
    for number, line in enumerate((root / "layers.txt").read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        match = re.fullmatch(r"([a-z0-9_/]+):([^|]*)(?:\|(.*))?", line)
        if not match:
            errors.append(f"layers.txt:{number}: layers: not of the form `layer: layers | layers`")
            continue
        name, allowed, extra = match[1], set(match[2].split()), set((match[3] or "").split())
        for other in sorted(allowed):
            if other not in table:
                errors.append(f"layers.txt:{number}: layers: {name} may include {other}, which stands not above it")
        table[name] = Layer(name, allowed, extra)
    for layer in table.values():
        for other in sorted(layer.test_allowed - set(table)):
            errors.append(f"layers.txt: layers: the tests of {layer.name} name an unknown layer {other}")
    return table, errors


def layer_of(path: str, table: dict[str, Layer]) -> str | None:
    """The layer that owns a path under src/: the longest matching folder."""
    owners = [name for name in table if path.startswith(name + "/")]
    return max(owners, key=len) if owners else None


def target_layer(target: str, root: pathlib.Path, table: dict[str, Layer]) -> str | None:
    """The layer of an included path; the public headers in include/ are the layer `include`."""
    if "include" in table and (root / "include" / target).is_file():
        return "include"
    return layer_of(target, table)


def check(root: pathlib.Path) -> tuple[list[str], list[str]]:
    if not (root / "layers.txt").is_file():
        return ["layers.txt: layers: the table is missing"], []
    table, errors = read(root)
    src = root / "src"
    for file in sorted(p for p in src.rglob("*") if p.suffix in SOURCES and p.is_file()):
        path = file.relative_to(src).as_posix()
        owner = layer_of(path, table)
        if owner is None:
            errors.append(f"src/{path}:1: layers: belongs to no layer of layers.txt")
            continue
        layer = table[owner]
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match[1]
            here = f"src/{path}:{number}: layers:"
            if target.startswith(("./", "../")) or (file.parent / target).is_file() and "/" not in target:
                errors.append(f'{here} "{target}" is relative to the file: write the path from src/')
                continue
            other = target_layer(target, root, table)
            if other is None or other == owner or other in layer.allowed:
                continue
            if TEST_ONLY.search(path) and other in layer.test_allowed:
                continue
            errors.append(f'{here} {owner} must not include {other} ("{target}")')
    return errors, []
