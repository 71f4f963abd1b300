#!/usr/bin/env python3
"""What narrow types gain over PyTorch in FP32 that is not optimized, and how far results are from it: on a GPU, or on a processor.

    python bench/precision.py FOLDER --device cuda [--models resnet50:1,bert_base:1,yolov5s:1,efficientnet_b4:1] [--json FILE] [--build-only]

FOLDER is for models and plans, which are made if they are not there: models by tools/gpu/models.py, with random weights, in INT8 by tools/gpu/quantize.py.
PyTorch runs eagerly and multiplies in FP32, not in TF32. All programs of a model take turns. Accuracy is the cosine of all outputs with PyTorch's, and the root
mean square of the difference as a part of theirs.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import rows

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools/gpu"))
NAMES = "resnet50:1,bert_base:1,yolov5s:1,efficientnet_b4:1"
# What a build may compute in, by the device and the type that is asked for.
FLAGS = {("cuda", "fp16"): ("fp16",), ("cuda", "int8"): ("fp16",), ("cuda", "fp32"): (), ("cpu", "fp32"): (), ("cpu", "bf16"): ("bf16",), ("cpu", "int8"): ()}


def wootz(args, *words):
    """Runs the command line, and gives what it printed."""
    done = subprocess.run([str(args.wootz), *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"wootz {' '.join(map(str, words))}: {done.stderr[-2000:]}")
    return done.stdout


def plan_of(folder, name, kind, args):
    """The plan's file, built where it is not there."""
    import models

    plan = folder / f"{name.replace(':', '_')}.{kind}.{args.device}.plan"
    if plan.exists():
        return plan
    model = name.replace(":", "_int8:") if kind == "int8" else name
    file = folder / f"{model.replace(':', '_')}.onnx"
    if not file.exists():
        (models.export_quantized if kind == "int8" else models.export)(str(folder), model)
    began = time.perf_counter()
    flags = [f"--{flag}" for flag in FLAGS[args.device, kind]] + (["--threads", args.threads] if args.device == "cpu" else [])
    wootz(args, "build", file, "-o", plan, "--device", args.device, *flags)
    print(f"{plan.name}: built in {time.perf_counter() - began:.1f} s", flush=True)
    return plan


class Ours:
    """A plan, computed and timed by the command line in a process of its own."""

    def __init__(self, plan, inputs, args):
        self.plan, self.args = plan, args
        with tempfile.TemporaryDirectory() as scratch:
            given = []
            for key, value in inputs.items():
                np.save(f"{scratch}/{key}.npy", value.cpu().numpy())
                given += ["-i", f"{key}={scratch}/{key}.npy"]
            wootz(args, "run", plan, *given, "--output-dir", f"{scratch}/out")
            self.outputs = {file.stem: np.load(file).astype(np.float64) for file in pathlib.Path(scratch, "out").glob("*.npy")}

    def ms(self, seconds):
        return json.loads(wootz(self.args, "bench", self.plan, "--duration", seconds, "--json"))["median_ms"]


def timed(call, device, seconds):
    """ms of a call in a row of them, that lasts so long."""
    import torch

    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    call()
    wait()
    count, began = 1, time.perf_counter()
    while True:
        for _ in range(count):
            call()
        wait()
        spent = time.perf_counter() - began
        if spent >= seconds:
            return spent / count * 1e3
        count, began = max(2 * count, int(count * seconds / max(spent, 1e-6)) + 1), time.perf_counter()


def agreement(want, outputs):
    """(cosine, root mean square of the difference over that of `want`); outputs, by name, are matched by their extents."""
    left, got = list(outputs.values()), []
    for part in want:
        same = next(i for i, other in enumerate(left) if other.size == part.size)
        got.append(left.pop(same))
    a, b = (np.concatenate([part.ravel() for part in side]) for side in (want, got))
    return float(a @ b / math.sqrt((a @ a) * (b @ b))), float(np.sqrt(((a - b) ** 2).sum() / (a @ a)))


def row_of(folder, name, args):
    import models
    import torch

    model, inputs = models.make(name)
    model = model.to(args.device)
    inputs = {key: value.to(args.device) for key, value in inputs.items()}
    eager = lambda: model(*inputs.values())
    results = eager()
    want = [v.detach().double().cpu().numpy() for v in (results if isinstance(results, (tuple, list)) else (results,))]
    ours = {kind: Ours(plan_of(folder, name, kind, args), inputs, args) for kind in args.kinds.split(",")}
    row = {"model": name, "device": args.device, "agreement": {}}
    for kind, each in ours.items():
        cosine, error = agreement(want, each.outputs)
        row["agreement"][kind] = {"cosine": cosine, "error": error}
    times = {key: [] for key in ("pytorch_fp32", *ours)}
    for _ in range(args.rounds):
        times["pytorch_fp32"].append(timed(eager, args.device, args.seconds))
        for kind, each in ours.items():
            times[kind].append(each.ms(args.seconds))
    row["ms"] = {key: statistics.median(values) for key, values in times.items()}
    row["gain"] = {key: statistics.median(a / b for a, b in zip(times["pytorch_fp32"], times[key])) for key in ours}
    torch.cuda.empty_cache()
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], required=True)
    rows.add_options(parser, NAMES, threads_of="of the processor")
    parser.add_argument("--kinds", help="of fp32, fp16, bf16, int8; default: fp16,int8 on a GPU, fp32,bf16,int8 on a processor")
    parser.add_argument("--wootz", type=pathlib.Path, default=ROOT / "build/release/bin/wootz")
    parser.add_argument("--build-only", action="store_true")
    args = parser.parse_args()
    args.kinds = args.kinds or ("fp16,int8" if args.device == "cuda" else "fp32,bf16,int8")
    args.folder.mkdir(parents=True, exist_ok=True)
    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    torch.set_num_threads(args.threads if args.device == "cpu" else os.cpu_count())
    names = args.models.split(",")
    with torch.no_grad():
        if args.build_only:
            for name in names:
                for kind in args.kinds.split(","):
                    plan_of(args.folder, name, kind, args)
        else:
            rows.show((row_of(args.folder, name, args) for name in names), args.json)


if __name__ == "__main__":
    main()
