"""No circles of includes. A file and the header of its name are one unit (x.cpp, x.h); units under src/ may not include each
other in a circle, neither directly nor by way of others: whoever reads one then needs all of them."""

import pathlib

import layers

# Circles that are known and to be broken: the units of each, without suffix. A circle that is no part of one of these is an
# error; a warning says which of these is no more.
KNOWN: tuple[frozenset[str], ...] = ()


def unit_of(path: str) -> str:
    return path.rsplit(".", 1)[0]


def includes(root: pathlib.Path) -> dict[str, set[str]]:
    """Which units each unit includes."""
    src = root / "src"
    edges: dict[str, set[str]] = {}
    for file in sorted(p for p in src.rglob("*") if p.suffix in (".cpp", ".h", ".cu", ".cuh") and p.is_file()):
        path = file.relative_to(src).as_posix()
        if layers.TEST_ONLY.search(path):
            continue
        found = edges.setdefault(unit_of(path), set())
        for line in file.read_text(errors="replace").splitlines():
            match = layers.INCLUDE.match(line)
            if match and match[1].endswith((".h", ".cuh")) and (src / match[1]).is_file():
                found.add(unit_of(match[1]))
        found.discard(unit_of(path))
    return edges


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Sets of units that reach each other (Tarjan's strongly connected components), of more than one."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found = []
    for start in sorted(edges):
        if start in index:
            continue
        work = [(start, iter(sorted(edges[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            unit, rest = work[-1]
            step = next((n for n in rest if n in edges and (n not in index or n in on_stack)), None)
            if step is not None and step not in index:
                index[step] = low[step] = len(index)
                stack.append(step)
                on_stack.add(step)
                work.append((step, iter(sorted(edges[step]))))
                continue
            if step is not None:
                low[unit] = min(low[unit], index[step])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[unit])
            if low[unit] == index[unit]:
                members = []
                while True:
                    members.append(stack.pop())
                    on_stack.discard(members[-1])
                    if members[-1] == unit:
                        break
                if len(members) > 1:
                    found.append(sorted(members))
    return sorted(found)


def check(root: pathlib.Path, known: tuple[frozenset[str], ...] | None = None) -> tuple[list[str], list[str]]:
    known = KNOWN if known is None else known
    if not (root / "src").is_dir():
        return [], []
    errors, warnings = [], []
    found = circles(includes(root))
    for members in found:
        if not any(members_known.issuperset(members) for members_known in known):
            errors.append(f"src/{members[0]}:1: circles: these include each other: {', '.join(members)}")
    for members in known:
        if not any(members.issuperset(f) for f in found) and (root / "src" / f"{min(members)}.h").is_file():
            warnings.append(f"tools/lint/circles.py:1: circles: known, and no more: {', '.join(sorted(members))}")
    return errors, warnings
