"""Writes docs/optimizations.md from tests/fusions/rows.py: each fusion, the kernel it becomes, and what it gains here and now.

    PYTHONPATH=build/release/python .venv/bin/python tools/docs/optimizations.py [--only NAME,...]

Each graph is built twice, once without the passes of its row, and both plans run in turn on one thread, whose CPU time
counts. Convolutions work channels-last in both, so that it is the fusion that differs; kernels are chosen by timing. With --only,
the other rows and the date stay as they are.
"""
import argparse
import datetime
import pathlib
import platform
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/optimizations.md"
MARKS = "<!-- table: tools/docs/optimizations.py -->", "<!-- end of table -->"
sys.path.insert(0, str(ROOT / "tests/fusions"))
import plans
import rows


def cpu_name():
    found = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return found[1] if found else platform.machine()


def measure(row):
    """(kernels of the fused plan, steps without the passes, gain or None)."""
    model = row.build()
    alike = {"threads": 1, "timing": True, "tactic": "conv=channels_last" if "conv" in row.steps else ""}
    fused = plans.Plan(model, **alike)
    if not row.passes:
        return fused.kernels, len(fused.kernels), None
    pieces = plans.Plan(model, row.passes, **alike)
    feeds = plans.random_feeds(model)
    together, apart = plans.interleaved(fused.prepare(feeds), pieces.prepare(feeds))
    return fused.kernels, len(pieces.kernels), apart / together


def line(row, kernels, pieces, gain):
    kernels = ", ".join(f"`{k}`" for k in dict.fromkeys(re.sub(r"_(avx512|avx2)\w*$", "", k) for k in kernels))
    return (f"{heading(row)} {kernels} | {pieces} to {len(row.steps)} | "
            f"{'always on' if gain is None else f'{gain:.2f}'} | {', '.join(f'`{p}`' for p in row.passes)} |")


def heading(row):
    return f"| {row.wording or '(ours)'} | {row.pattern} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="names of rows, which are functions of tests/fusions, separated by commas")
    only = set(filter(None, parser.parse_args().only.split(",")))
    if unknown := only - {row.name for row in rows.ROWS}:
        parser.error(f"no such rows: {', '.join(sorted(unknown))}")
    before, rest = PAGE.read_text().split(MARKS[0])
    old, after = rest.split(MARKS[1])
    table = ["| fusion | pattern | becomes | steps | gain | passes |", "| --- | --- | --- | --- | --- | --- |"]
    for row in rows.ROWS:
        if only and row.name not in only:
            table += [kept for kept in old.splitlines() if kept.startswith(heading(row))]
            continue
        table.append(line(row, *measure(row)))
        print(table[-1], flush=True)
    notes = [f"{row.wording or row.pattern}: {row.note}" for row in rows.ROWS if row.note]
    when = f"Measured {datetime.date.today()} by `tools/docs/optimizations.py` on one thread of {cpu_name()}."
    if only:
        when = next(kept for kept in old.splitlines() if kept.startswith("Measured "))
    PAGE.write_text("\n".join([before + MARKS[0], "", *table, "", when, "", *notes, "", MARKS[1]]) + after)


if __name__ == "__main__":
    main()
