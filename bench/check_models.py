#!/usr/bin/env python3
"""Whole models against ONNX Runtime: ./dev models [--models DIR] [--only NAMES] [--backend cpu,reference] [--passes on,off] [--json FILE]

Each model of DIR (bench/models.py says what is in it; default: the package models of ./dev bench) is built for each backend
with the optimizing passes on and off, and run on fresh random inputs; a model with dynamic dimensions on several shapes
in random order, in one context. One line a check, exit status 1 when any misses. docs/model-checks.md says what is compared.
"""
import argparse
import json
import math
import pathlib
import random
import sys
import tempfile
import time

import numpy as np

import driver
from models import chosen, dynamic_axes, float_model, load_models, make_inputs, profile_of, random_shapes

FP32_LIMIT = 1e-4         # of the output's scale
ILL_CONDITIONED = 2e-3    # where ONNX Runtime, optimizer on against off, differs as much
INT8_COSINE = 0.99
INT8_FARTHER = 1.1        # our distance from the FP32 model over that of ONNX Runtime's INT8


def log(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def relative_l2(outputs, reference):
    """Distance of all outputs together, over the norm of the reference."""
    square = lambda arrays: sum(float(np.sum(np.square(a.astype(np.float64)))) for a in arrays)
    distance = square([a.astype(np.float64) - b.astype(np.float64) for a, b in zip(outputs, reference)])
    return math.sqrt(distance / max(square(reference), 1e-300))


class Session:
    """A runtime in a process of its own; run() gives its outputs, in order, for a feed."""

    def __init__(self, runtime, model, folder, args, plan="", build=None):
        self.folder = folder
        self.worker = driver.Worker(runtime, model, plan, args.threads, load=False, timeout=args.timeout)
        if build:
            self.worker.ask(cmd="build", model=str(model), plan=str(plan), **build)
        self.worker.load()

    def run(self, feed):
        np.savez(f"{self.folder}/feed.npz", **feed)
        self.worker.ask(cmd="feed", inputs=f"{self.folder}/feed.npz")
        self.worker.ask(cmd="outputs", file=f"{self.folder}/out.npz")
        with np.load(f"{self.folder}/out.npz") as arrays:
            return [arrays[k] for k in sorted(arrays, key=int)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.worker.close()


def worst(a, b):
    """Largest relative difference and smallest cosine over the outputs."""
    if len(a) != len(b):
        return math.inf, 0.0
    pairs = [driver.difference(x, y) for x, y in zip(a, b)]
    return max(p[0] for p in pairs), min(p[1] for p in pairs)


class Expected:
    """What ONNX Runtime says about one model: feeds, its outputs for them, and more when asked for."""

    def __init__(self, name, entry, manifest, models, folder, args):
        self.model, self.folder, self.args = models / entry["file"], folder, args
        origin = float_model(name, entry, manifest)
        self.quantized = origin is not None
        self.float_file = models / manifest[origin]["file"] if origin else None
        axes = dynamic_axes(self.model, entry["inputs"])
        self.profile = profile_of(entry, axes)
        rng = random.Random(f"{args.seed}/{name}")
        self.feeds, self.outputs, refused = [], [], 0
        with Session("ort_exact" if self.quantized else "ort", self.model, folder, args) as ort:
            while len(self.feeds) < (args.shapes if axes else args.feeds):
                shapes = random_shapes(entry, axes, self.profile, rng)
                feed = make_inputs(entry["inputs"], rng.randrange(1 << 32), shapes)
                if refused < 50 and any(self.shapes(feed) == self.shapes(f) for f in self.feeds) and axes:
                    refused += 1  # another shape if there is one
                    continue
                try:
                    outputs = ort.run(feed)
                except RuntimeError as error:
                    refused += 1
                    if refused > 100 or not axes or "died" in str(error):
                        raise
                    log(f"{name}: ONNX Runtime refuses {self.shapes(feed)}: another shape")
                    continue
                self.feeds.append(feed)
                self.outputs.append(outputs)
        self.plain = self.float_outputs = None

    @staticmethod
    def shapes(feed):
        return "x".join(map(str, max((a.shape for a in feed.values()), key=len)))

    def all_of(self, runtime, model):
        with Session(runtime, model, self.folder, self.args) as session:
            return [session.run(feed) for feed in self.feeds]

    def without_optimizer(self, i):
        if self.plain is None:
            self.plain = self.all_of("ort_plain", self.model)
        return self.plain[i]

    def of_float_model(self, i):
        if self.float_outputs is None:
            self.float_outputs = self.all_of("ort", self.float_file)
        return self.float_outputs[i]


def judge(expected, i, outputs):
    """The figures of one check and whether it holds."""
    difference, cosine = worst(outputs, expected.outputs[i])
    row = {"difference": difference, "cosine": cosine}
    if expected.quantized:
        of_float = expected.of_float_model(i)
        row["ours_to_float"] = relative_l2(outputs, of_float)
        row["ort_to_float"] = relative_l2(expected.outputs[i], of_float)
        row["farther"] = row["ours_to_float"] / max(row["ort_to_float"], 1e-12)
        row["passed"] = cosine >= INT8_COSINE and row["farther"] <= INT8_FARTHER
        return row
    row["passed"] = difference <= FP32_LIMIT
    if not row["passed"]:
        plain = expected.without_optimizer(i)
        row["ort_plain"] = worst(plain, expected.outputs[i])[0]
        row["to_ort_plain"] = worst(outputs, plain)[0]
        row["passed"] = difference <= min(ILL_CONDITIONED, row["ort_plain"])
    return row


def check(name, entry, manifest, models, args):
    """Rows of one model, printed as they come."""
    rows = []

    def add(backend, passes, shape, seconds, row):
        rows.append({"model": name, "backend": backend, "passes": passes, "shape": shape, "seconds": seconds, **row})
        show(rows[-1])

    with tempfile.TemporaryDirectory() as folder:
        try:
            expected = Expected(name, entry, manifest, models, folder, args)
        except Exception as error:  # no ONNX file, say: the other models go on
            add("-", "-", "-", 0, {"passed": False, "error": f"{type(error).__name__}: {error}"})
            return rows
        for backend in args.backend.split(","):
            for passes in args.passes.split(","):
                options = {"backend": backend, "threads": str(args.threads), "disable_passes": "all" if passes == "off" else ""}
                if backend == "reference":
                    options["timing"] = "0"
                build = {"shapes": expected.profile, "options": {k: v for k, v in options.items() if v}}
                log(f"{name}: {backend}, passes {passes}: building")
                shape, start = "-", time.perf_counter()
                try:
                    with Session("wootz", expected.model, folder, args, f"{folder}/plan", build) as session:
                        for i, feed in enumerate(expected.feeds):
                            shape, start = expected.shapes(feed), time.perf_counter()
                            outputs = session.run(feed)
                            add(backend, passes, shape, time.perf_counter() - start, judge(expected, i, outputs))
                except RuntimeError as error:
                    add(backend, passes, shape, time.perf_counter() - start, {"passed": False, "error": str(error)})
    return rows


def show(row):
    line = f"{row['model']:24s}{row['backend']:10s}{row['passes']:7s}{row['shape']:>14s}{row['seconds']:8.1f}"
    if "error" in row:
        print(f"{line}  FAILED  " + row["error"].replace("\n", "\n    "), flush=True)
        return
    line += f"{row['difference']:10.1e}{row['cosine']:10.6f}"
    line += f"{row['ort_plain']:10.1e}" if "ort_plain" in row else f"{'':10s}"
    line += f"{row['farther']:9.3f}" if "farther" in row else f"{'':9s}"
    print(f"{line}  {'ok' if row['passed'] else 'MISS'}", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", help="folder with manifest.json")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--backend", default="cpu,reference")
    parser.add_argument("--passes", default="on,off")
    parser.add_argument("--shapes", type=int, default=5, help="of a dynamic model (default 5)")
    parser.add_argument("--feeds", type=int, default=2, help="of a static model (default 2)")
    parser.add_argument("--seed", type=int, default=None, help="of inputs and shapes; default: a new one, printed")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=1800, help="seconds that one build or inference may take")
    parser.add_argument("--json", help="all rows to this file")
    args = parser.parse_args(arguments)
    for value, known in [(args.backend, ("cpu", "reference")), (args.passes, ("on", "off"))]:
        if not set(value.split(",")) <= set(known):
            parser.error(f"'{value}': expected names out of {', '.join(known)}")
    if args.seed is None:
        args.seed = random.SystemRandom().randrange(1 << 31)
    models, manifest = load_models(args.models)
    todo = chosen(manifest, args.only)
    print(f"seed {args.seed}; difference from ONNX Runtime, over the largest output; off: ONNX Runtime's optimizer off against on; "
          f"farther: from the FP32 model, ours / ONNX Runtime's INT8")
    print(f"{'model':24s}{'backend':10s}{'passes':7s}{'shape':>14s}{'s':>8s}{'differs':>10s}{'cosine':>10s}{'off':>10s}{'farther':>9s}")
    rows = []
    for name, entry in todo.items():
        rows += check(name, entry, manifest, models, args)
    misses = [r for r in rows if not r["passed"]]
    print(f"{len(rows)} checks of {len(todo)} models, {len(misses)} missed")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"seed": args.seed, "rows": rows}, indent=1))
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
