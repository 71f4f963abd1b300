"""Writes docs/supported-ops.md from the import tables of src/ops.

    .venv/bin/python tools/docs/supported_ops.py [--check | --missing]

--check writes nothing and exits 1 when the page differs. --missing writes nothing and lists the operators without an import, by
domain: ONNX's own, and those of ONNX Runtime. The list of ops that ONNX has and Wootz does not comes from the
installed `onnx` package; without it that part is left as it is not known.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/supported-ops.md"
# {"Softmax", 13, import_axis} or {"FlexAttention", 1, import_flex_attention, "ai.onnx.preview"}
ENTRY = re.compile(r'\{\s*"(\w+)",\s*(\d+),\s*[\w:]+\s*(?:,\s*"([\w.]*)"\s*)?\}')
TABLE = re.compile(r"OnnxImport\s+\w+\[\]\s*=\s*\{(.*?)\};", re.S)
HEAD = """# Supported ONNX operators

Written by `tools/docs/supported_ops.py` from the tables in `src/ops`; do not edit.

"From opset" gives the opset versions at which the import changes: `1, 13` means that opsets 1 to 12 are read one way and
13 and later another. Every operator runs on every backend: where a backend has no kernel of its own for it, the plain
reference implementation computes it (on a GPU only where the build allows it: [gpu.md](gpu.md)). Beyond `ai.onnx` the domain is named.

The branches of an `If` may differ in shape. A condition over extents that comes out the same for every optimization profile (or over values
of an input that every profile gives) is decided while building. What is left open is chosen while running; extents in which the
branches differ are then known when the shapes are, or, for a condition that is computed, when the `If` has run. Results of
differing rank go on inside of the branches until they are of one rank; a branch that its readers cannot read ends the run with a
message if it is chosen. A network output that may have two ranks is refused, naming both.

Operators that draw random numbers give other ones in every inference, and in each execution context. With a seed every context draws the
same sequence, which goes on from inference to inference; nodes of one seed still differ. The numbers are ours: other runtimes draw others.
(On a GPU, the bodies of `If`, `Loop` and `Scan` begin the sequence of a seed anew each time.)

"""


def tables(root: pathlib.Path) -> dict[str, dict[tuple[str, str], set[int]]]:
    """Module -> (domain, op) -> opset versions."""
    modules: dict[str, dict[tuple[str, str], set[int]]] = {}
    for file in sorted((root / "src/ops").glob("*/*.cpp")):
        for table in TABLE.findall(file.read_text()):
            entries = ENTRY.findall(table)
            if len(entries) != table.count('{"'):
                sys.exit(f"{file.relative_to(root)}: a table line that is not {{\"Op\", version, function[, domain]}}")
            for op, version, domain in entries:
                modules.setdefault(file.parent.name, {}).setdefault((domain, op), set()).add(int(version))
    return modules


def missing(served: set[tuple[str, str]]) -> list[str] | None:
    """Ops of ai.onnx that no table serves; None when the `onnx` package is not there to ask."""
    try:
        import onnx.defs
    except ImportError:
        return None
    names = {s.name for s in onnx.defs.get_all_schemas() if s.domain == "" and not s.deprecated}
    return sorted(name for name in names if ("", name) not in served)


def missing_elsewhere(served: set[tuple[str, str]]) -> list[str]:
    """Ops of ONNX Runtime's own domain that no table serves."""
    names = set(re.findall(r'^SIGNATURE\("com.microsoft", "(\w+)"', (ROOT / "src/onnx/signatures.inc").read_text(), re.M))
    return sorted(name for name in names if ("com.microsoft", name) not in served)


def page(root: pathlib.Path) -> str:
    ops: dict[tuple[str, str], tuple[set[int], set[str]]] = {}
    for module, entries in tables(root).items():
        for key, versions in entries.items():
            known = ops.setdefault(key, (set(), set()))
            known[0].update(versions)
            known[1].add(module)
    lines = ["| operator | domain | from opset | module in `src/ops` |", "| --- | --- | --- | --- |"]
    for (domain, op), (versions, modules) in sorted(ops.items(), key=lambda item: (item[0][1].lower(), item[0][0])):
        lines.append(f"| {op} | {domain} | {', '.join(map(str, sorted(versions)))} | {', '.join(sorted(modules))} |")
    text = HEAD + f"{len(ops)} operators.\n\n" + "\n".join(lines) + "\n"
    left = missing(set(ops))
    if left:
        text += ("\n## Not supported\n\nOperators of `ai.onnx` without an import. A model that has one is refused, with the names of all "
                 "such nodes.\n\n" + ", ".join(left) + ".\n\nOf other domains (`com.microsoft` is ONNX Runtime's) only the operators "
                 "of the table are supported.\n")
    return text


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--check", action="store_true", help="write nothing; exit 1 when the page differs")
    options.add_argument("--missing", action="store_true", help="write nothing; list the operators without an import")
    chosen = options.parse_args()
    check = chosen.check
    if chosen.missing:
        served = {key for entries in tables(ROOT).values() for key in entries}
        print("ai.onnx:", ", ".join(missing(served) or []))
        print("com.microsoft:", ", ".join(missing_elsewhere(served)))
        return 0
    text = page(ROOT)
    if check:
        current = PAGE.read_text() if PAGE.is_file() else ""
        if current != text:
            print(f"{PAGE.relative_to(ROOT)} is old: run tools/docs/supported_ops.py")
            return 1
        return 0
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
