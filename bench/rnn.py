#!/usr/bin/env python3
"""Recurrent layers against ONNX Runtime on the CPU: PYTHONPATH=build/release/python python bench/rnn.py [--json FILE] [--only TEXT]

One layer a model: LSTM and GRU of 48, 256 and 1024 units, 1 and 8 sequences of 32 and 128 steps, forward and bidirectional, inputs
as wide as the layer. The two runtimes take turns in processes of their own, with the same threads and inputs; a ratio is of two
turns that followed each other, and what is shown is the median of the ratios. Results are compared. --least is for a machine that
other programs use, too: the fastest single run of each runtime counts, which with one thread needs no more than a quiet moment.
"""
import argparse
import itertools
import json
import math
import pathlib
import random
import sys
import tempfile

import numpy as np

import driver

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def make_model(path, kind, hidden, batch, steps, direction, **attributes):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(1)
    d, width = 2 if direction == "bidirectional" else 1, GATES[kind] * hidden
    draw = lambda *dims: ((rng.random(dims, dtype=np.float32) * 2 - 1) / np.float32(math.sqrt(hidden)))
    weights = [numpy_helper.from_array(a, n) for n, a in (("W", draw(d, width, hidden)), ("R", draw(d, width, hidden)), ("B", draw(d, 2 * width)))]
    outputs = ["Y", "Y_h", "Y_c"][:3 if kind == "LSTM" else 2]
    node = helper.make_node(kind, ["X", "W", "R", "B"], outputs, hidden_size=hidden, direction=direction, **attributes)
    value = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    results = [value(n, [steps, d, batch, hidden] if n == "Y" else [d, batch, hidden]) for n in outputs]
    graph = helper.make_graph([node], "rnn", [value("X", [steps, batch, hidden])], results, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return {"X": np.random.default_rng(2).standard_normal((steps, batch, hidden), dtype=np.float32)}


def plan_for(model, threads):
    import wootz

    plan = pathlib.Path(model).with_suffix(".plan")
    plan.write_bytes(wootz.build(model, shapes={}, options={"threads": str(threads)}))
    return plan


def measure(folder, model, plan, inputs, peer, threads, rounds, seconds, rng, least):
    feed = f"{folder}/inputs.npz"
    np.savez(feed, **inputs)
    workers, results, times, ratios = {}, {}, {"wootz": [], peer: []}, []
    try:
        for runtime in times:
            workers[runtime] = worker = driver.Worker(runtime, model, plan, threads)
            worker.ask(cmd="feed", inputs=feed)
            worker.ask(cmd="time", seconds=seconds)
            worker.ask(cmd="outputs", file=f"{folder}/{runtime}.npz")
            with np.load(f"{folder}/{runtime}.npz") as arrays:
                results[runtime] = [arrays[k] for k in sorted(arrays, key=int)]
        for _ in range(rounds):
            for runtime in rng.sample(list(times), 2):
                times[runtime].append(workers[runtime].ask(cmd="time", seconds=seconds)["least_ms" if least else "ms"])
            ratios.append(times["wootz"][-1] / times[peer][-1])
    finally:
        for worker in workers.values():
            worker.close()
    differences = [driver.difference(a, b)[0] for a, b in zip(results["wootz"], results[peer])]
    ours, theirs = (float((min if least else np.median)(times[runtime])) for runtime in times)
    return {"wootz_ms": ours, f"{peer}_ms": theirs, "ratio": ours / theirs if least else float(np.median(ratios)),
            "ratios": [round(r, 3) for r in ratios], "difference": max(differences)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--only", default="", help="comma-separated parts that a row's name must have, as in lstm_1024,_b8")
    parser.add_argument("--peer", default="ort")
    parser.add_argument("--kinds", default="LSTM,GRU")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--least", action="store_true")
    args = parser.parse_args()
    rng, rows = random.Random(0), []
    print(f"{'layer':40s}{'wootz ms':>10s}{args.peer + ' ms':>10s}{'ratio':>8s}{'difference':>12s}")
    for kind, hidden, batch, steps, direction in itertools.product(args.kinds.split(","), (48, 256, 1024), (1, 8), (32, 128),
                                                                   ("forward", "bidirectional")):
        name = f"{kind.lower()}_{hidden}_b{batch}_s{steps}_{direction}"
        if not all(part in name for part in args.only.split(",")):
            continue
        with tempfile.TemporaryDirectory() as folder:
            model = f"{folder}/model.onnx"
            inputs = make_model(model, kind, hidden, batch, steps, direction)
            row = measure(folder, model, plan_for(model, args.threads), inputs, args.peer, args.threads, args.rounds, args.seconds, rng,
                          args.least)
        rows.append({"layer": name, **row})
        print(f"{name:40s}{row['wootz_ms']:10.3f}{row[args.peer + '_ms']:10.3f}{row['ratio']:8.3f}{row['difference']:12.2e}", flush=True)
    over = [r["layer"] for r in rows if not r["ratio"] <= 1]
    mean = math.exp(sum(math.log(r["ratio"]) for r in rows) / len(rows)) if rows else float("nan")
    print(f"geometric mean {mean:.3f} over {len(rows)} layers; above 1.0: {', '.join(over) or 'none'}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
