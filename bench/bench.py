#!/usr/bin/env python3
"""Wootz against its peers on the CPU: ./dev bench [--models DIR] [--peers ort,openvino] [--json FILE] [--only NAMES]

DIR holds ONNX models and a manifest.json: {name: {"file": ..., "inputs": {input: {"dtype", "shape", "gen"}}}}, with gen one of
randn, ones, zeros, randint:N. Without --models: the text models out of the rapidocr-onnxruntime package.
Every number is a ratio's part: runtimes take turns in one run, with the same threads and inputs; medians of medians.

./dev bench --scaling [5000,10000,20000]: instead, what building and loading cost on generated networks of so many nodes.
"""
import argparse
import hashlib
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

import driver

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEED = 1234


def package_models():
    folder = pathlib.Path(importlib.util.find_spec("rapidocr_onnxruntime").submodule_search_locations[0]) / "models"
    image = lambda h, w: {"x": {"dtype": "float32", "shape": [1, 3, h, w], "gen": "randn"}}
    return folder, {"ppocr_det": {"file": "ch_PP-OCRv4_det_infer.onnx", "inputs": image(640, 640)},
                    "ppocr_rec": {"file": "ch_PP-OCRv4_rec_infer.onnx", "inputs": image(48, 320)},
                    "ppocr_cls": {"file": "ch_ppocr_mobile_v2.0_cls_infer.onnx", "inputs": image(48, 192)}}


def make_inputs(spec):
    rng = np.random.default_rng(SEED)
    arrays = {}
    for name, s in spec.items():
        gen, shape = s["gen"], s["shape"]
        if gen == "randn":
            array = rng.standard_normal(shape)
        elif gen.startswith("randint"):
            array = rng.integers(0, int(gen.split(":")[1]), shape)
        else:
            array = np.ones(shape) if gen == "ones" else np.zeros(shape)
        arrays[name] = array.astype(s["dtype"])
    return arrays


def dynamic_shapes(model, spec):
    """A profile for the inputs with symbolic dimensions: from 1 to the manifest's shape, which is also the optimum."""
    import onnx

    graph = onnx.load(str(model), load_external_data=False).graph
    shapes = {}
    for value in graph.input:
        if value.name not in spec:
            continue
        dims = value.type.tensor_type.shape.dim
        if all(d.HasField("dim_value") and d.dim_value > 0 for d in dims):
            continue
        full = spec[value.name]["shape"]
        low = [f if d.dim_value > 0 else 1 for d, f in zip(dims, full)]
        shapes[value.name] = (low, full, full)
    return shapes


def plan_for(model, spec, cache):
    import wootz

    digest = hashlib.sha256(model.read_bytes()).hexdigest()[:16]
    library = next((ROOT / "build/release/python/wootz").glob("_wootz*.so"))
    stamp = int(library.stat().st_mtime)
    plan = cache / f"{model.stem}-{digest}-{stamp}.plan"
    if not plan.exists():
        start = time.perf_counter()
        plan.write_bytes(wootz.build(model, shapes=dynamic_shapes(model, spec), options={"threads": "2"}))
        print(f"  built {model.name} in {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    return plan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models")
    parser.add_argument("--peers", default="ort,openvino")
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
    if args.models:
        folder = pathlib.Path(args.models)
        manifest = json.loads((folder / "manifest.json").read_text())
    else:
        folder, manifest = package_models()
    only = [n for n in args.only.split(",") if n]
    peers = [p for p in args.peers.split(",") if p]
    cache = ROOT / "build/bench"
    cache.mkdir(parents=True, exist_ok=True)
    rows, ratios = [], []
    print(f"{'model':24s}{'wootz ms':>10s}" + "".join(f"{p + ' ms':>14s}" for p in peers) +
          f"{'ratio':>8s}{'load ms':>10s}{'ort load':>10s}{'MiB':>7s}{'ort MiB':>9s}{'difference':>12s}")
    for name, entry in manifest.items():
        if only and name not in only:
            continue
        model = folder / entry["file"]
        try:
            plan = plan_for(model, entry["inputs"], cache)
        except Exception as error:
            print(f"{name:24s}  build failed: {error}")
            rows.append({"model": name, "runtime": "wootz", "error": str(error)})
            continue
        results = driver.compare(model, plan, make_inputs(entry["inputs"]), ["wootz", *peers], args.threads, args.rounds, args.seconds)
        rows += [{"model": name, "precision": "int8" if "int8" in name else "fp32", "runtime": r, **row} for r, row in results.items()]
        ours, others = results["wootz"], [results[p]["ms"] for p in peers if "ms" in results[p]]
        if "error" in ours:
            print(f"{name:24s}  {ours['error']}")
            continue
        ratio = ours["ms"] / min(others) if others else float("nan")
        if "int8" not in name:
            ratios.append(ratio)
        ort = results.get("ort", {})
        print(f"{name:24s}{ours['ms']:10.3f}" + "".join(f"{results[p].get('ms', float('nan')):14.3f}" for p in peers) +
              f"{ratio:8.2f}{ours['load_ms']:10.1f}{ort.get('load_ms', float('nan')):10.1f}{ours['rss_mib']:7.0f}{ort.get('rss_mib', float('nan')):9.0f}"
              f"{ours.get('difference', float('nan')):12.2e}", flush=True)
    if ratios:
        mean = math.exp(sum(math.log(r) for r in ratios) / len(ratios))
        print(f"geometric mean of ours / best peer, FP32: {mean:.3f} over {len(ratios)} models, worst {max(ratios):.2f}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
