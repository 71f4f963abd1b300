"""What the parts of a network take on a GPU, and what bounds them, from a build's report (`wootz build --json`) or a plan's
layers (`wootz inspect PLAN --json`).

    python tools/gpu/bounds.py REPORT.json [--tb-per-s 4.3] [--tflop-per-s 790] [--start-us 1.5]

A line for each kind of step and source of its kernels: how many, their times alone, and the least that their memory traffic, their
arithmetic and their starts would take by the given rates (those of an H200, measured). Steps read weights from memory and activations
from the cache, so that the first is an upper bound of what memory asks for.
"""

import argparse
import json


def kind_of(layer):
    source = layer.get("TacticName", "").split(":")[0] or "?"
    return layer.get("LayerType", "?"), source


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report")
    parser.add_argument("--tb-per-s", type=float, default=4.3)
    parser.add_argument("--tflop-per-s", type=float, default=790)
    parser.add_argument("--start-us", type=float, default=1.5)
    args = parser.parse_args()
    with open(args.report, encoding="utf-8") as file:
        report = json.load(file)
    rows = {}
    for layer in report.get("layers", report.get("Layers", [])):
        row = rows.setdefault(kind_of(layer), [0, 0.0, 0.0, 0.0, 0.0])
        moved = (layer.get("BytesRead", 0) + layer.get("BytesWritten", 0)) / args.tb_per_s * 1e-6
        computed = layer.get("Flops", 0) / args.tflop_per_s * 1e-6
        time = layer.get("TimeUs", layer.get("TacticTimeUs", 0)) or 0
        for i, value in enumerate((1, max(time, 0), moved, computed, max(moved, computed, args.start_us))):
            row[i] += value
    print(f"{'kind':24} {'by':10} {'steps':>5} {'us':>8} {'memory':>8} {'sums':>8} {'least':>8}")
    total = [sum(row[i] for row in rows.values()) for i in range(5)]
    for (kind, source), row in sorted(rows.items(), key=lambda item: -item[1][1]):
        print(f"{kind:24} {source:10} {row[0]:5} {row[1]:8.1f} {row[2]:8.1f} {row[3]:8.1f} {row[4]:8.1f}")
    print(f"{'all':35} {total[0]:5} {total[1]:8.1f} {total[2]:8.1f} {total[3]:8.1f} {total[4]:8.1f}")


if __name__ == "__main__":
    main()
