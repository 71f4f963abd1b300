#!/usr/bin/env python3
"""Wootz against its peers on the CPU: ./dev bench [--models DIR] [--peers ort,openvino] [--json FILE] [--only NAMES]

DIR holds ONNX models and a manifest.json (bench/models.py says what is in it). Without --models: the text models out of the
rapidocr-onnxruntime package. Every number is a ratio's part: runtimes take turns in one run, with the same threads and inputs;
medians of medians. Static and dynamic models, FP32 and INT8; the two precisions are summed up apart. In 16 bits:
--precision bf16 --peers ort,openvino_bf16; differences are from ONNX Runtime's FP32, of the last peer too.

./dev bench --scaling [5000,10000,20000]: instead, what building and loading cost on generated networks of so many nodes.
"""
import argparse
import hashlib
import json
import math
import os
import pathlib
import subprocess
import sys
import time

import driver
from models import chosen, dynamic_axes, load_models, make_inputs

ROOT = pathlib.Path(__file__).resolve().parent.parent


def dynamic_shapes(model, spec):
    """A profile for the inputs with symbolic dimensions: from 1 to the manifest's shape, which is also the optimum."""
    shapes = {}
    for name, axes in dynamic_axes(model, spec).items():
        full = spec[name]["shape"]
        shapes[name] = ([1 if i in axes else f for i, f in enumerate(full)], full, full)
    return shapes


def plan_for(model, spec, cache, precision):
    import wootz

    digest = hashlib.sha256(model.read_bytes()).hexdigest()[:16]
    library = next((ROOT / "build/release/python/wootz").glob("_wootz*.so"))
    stamp = int(library.stat().st_mtime)
    plan = cache / f"{model.stem}-{digest}-{stamp}{'-' if precision else ''}{precision}.plan"
    if not plan.exists():
        start = time.perf_counter()
        plan.write_bytes(wootz.build(model, shapes=dynamic_shapes(model, spec), options={"threads": "2", "backend": "cpu"},
                                     precision=[precision] if precision else []))
        print(f"  built {model.name} in {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    return plan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models")
    parser.add_argument("--peers", default="ort,openvino")
    parser.add_argument("--precision", default="", choices=["", "bf16", "fp16"], help="what our layers may compute in; peers are chosen by --peers")
    parser.add_argument("--json")
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scaling", nargs="?", const="5000,10000,20000", metavar="NODES,...")
    args = parser.parse_args()
    if args.scaling:
        binary = ROOT / "build/release/bin/scaling_e2e"
        return subprocess.run([str(binary), "--gtest_brief=1"], env=dict(os.environ, WOOTZ_SCALING=args.scaling)).returncode
    folder, manifest = load_models(args.models)
    peers = [p for p in args.peers.split(",") if p]
    cache = ROOT / "build/bench"
    cache.mkdir(parents=True, exist_ok=True)
    rows, ratios, failed = [], {}, 0
    print(f"{'model':24s}{'wootz ms':>10s}" + "".join(f"{p + ' ms':>14s}" for p in peers) +
          f"{'ratio':>8s}{'load ms':>10s}{'ort load':>10s}{'MiB':>7s}{'ort MiB':>9s}{'difference':>12s}")
    for name, entry in chosen(manifest, args.only).items():
        model = folder / entry["file"]
        try:
            plan = plan_for(model, entry["inputs"], cache, args.precision)
        except Exception as error:
            print(f"{name:24s}  build failed: {error}")
            rows.append({"model": name, "runtime": "wootz", "error": str(error)})
            failed += 1
            continue
        precision = "INT8" if "int8" in name else (args.precision or "fp32").upper()
        results = driver.compare(model, plan, make_inputs(entry["inputs"]), ["wootz", *peers], args.threads, args.rounds, args.seconds)
        rows += [{"model": name, "precision": precision.lower(), "runtime": r, **row} for r, row in results.items()]
        ours, others = results["wootz"], [results[p]["ms"] for p in peers if "ms" in results[p]]
        if "error" in ours:
            print(f"{name:24s}  {ours['error']}")
            failed += 1
            continue
        ratio = ours["ms"] / min(others) if others else float("nan")
        if others:
            ratios.setdefault(precision, {})[name] = ratio
        ort = results.get("ort", {})
        print(f"{name:24s}{ours['ms']:10.3f}" + "".join(f"{results[p].get('ms', float('nan')):14.3f}" for p in peers) +
              f"{ratio:8.2f}{ours['load_ms']:10.1f}{ort.get('load_ms', float('nan')):10.1f}{ours['rss_mib']:7.0f}{ort.get('rss_mib', float('nan')):9.0f}"
              f"{ours.get('difference', float('nan')):12.2e}" + (f"{results[peers[-1]].get('difference', float('nan')):12.2e}" if args.precision else ""), flush=True)
    for precision, of in ratios.items():
        mean = math.exp(sum(math.log(r) for r in of.values()) / len(of))
        worst = max(of, key=of.get)
        print(f"{precision}: ours / best peer: geometric mean {mean:.3f} over {len(of)} models, worst {of[worst]:.2f} ({worst})")
    if failed:
        print(f"{failed} models failed")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
