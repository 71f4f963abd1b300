#!/usr/bin/env python3
"""Dynamic INT8 of transformers beside others: a scale for each row (wootz quantize --dynamic), for each tensor (ONNX Runtime's
quantize_dynamic), for groups of activations (OpenVINO, of the same weights in 8 bits), and static INT8 and FP32.

    python bench/dynamic.py MODEL.onnx FEED.npz [--rounds 12] [--seconds 0.25] [--threads 2] [--isa avx512] [--folder DIR] [--json FILE]

FEED has the inputs of one inference. Each runtime is a process that stays; they take turns in random order. Prints the median of the
times, the median of the ratios to the first, and the root mean square of the outputs' errors to ONNX Runtime's FP32. --isa: for ours; that of the others is to
be limited from outside.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


class Worker:
    def __init__(self, name, runtime, model, plan, feed, threads):
        self.name, self.times = name, []
        self.process = subprocess.Popen([sys.executable, str(HERE / "worker.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, env={**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"})
        self.ask(cmd="load", runtime=runtime, model=str(model), plan=str(plan), threads=threads)
        self.ask(cmd="feed", inputs=str(feed))

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(f"{self.name}: {answer['error']}")
        return answer

    def outputs(self, file):
        self.ask(cmd="outputs", file=str(file))
        return dict(np.load(file))


def weights_alone(source, target):
    """The dynamic model without the roundings of activations: what is left has its weights in 8 bits."""
    import onnx

    model = onnx.load(source)
    made = {node.output[0]: node for node in model.graph.node}
    for node in model.graph.node:
        back = made.get(node.input[0]) if node.op_type in ("MatMul", "Gemm") else None
        if back is not None and back.op_type == "DequantizeLinear" and back.input[0] in made:
            node.input[0] = made[back.input[0]].input[0]
    read = {name for node in model.graph.node for name in node.input} | {output.name for output in model.graph.output}
    kept = list(model.graph.node)
    while True:
        less = [node for node in kept if read & set(node.output)]
        if len(less) == len(kept):
            break
        kept = less
        read = {name for node in kept for name in node.input} | {output.name for output in model.graph.output}
    del model.graph.node[:]
    model.graph.node.extend(kept)
    onnx.save(model, target)


def models(model, feed, folder):
    """Files by name, made where they are not there."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    import wootz

    shapes = {name: value.shape for name, value in np.load(feed).items()}
    names = {name: folder / f"{name}.onnx" for name in ("rows", "static", "ort", "weights")}
    how = {"data": dict(np.load(feed)), "shapes": shapes, "options": {"backend": "cpu", "timing": "0"}}
    if not names["rows"].exists():
        wootz.quantize(model, names["rows"], dynamic=True, **how)
    if not names["static"].exists():
        wootz.quantize(model, names["static"], **how)
    if not names["ort"].exists():
        quantize_dynamic(str(model), str(names["ort"]), weight_type=QuantType.QInt8)
    if not names["weights"].exists():
        weights_alone(names["rows"], names["weights"])
    return names, shapes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("feed")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.25)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--isa", default="")
    parser.add_argument("--folder", default="")
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    import wootz

    folder = pathlib.Path(args.folder or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    made, shapes = models(args.model, args.feed, folder)
    options = {"backend": "cpu", "threads": str(args.threads), **({"isa": args.isa} if args.isa else {})}
    ranges = {name: (tuple(shape),) * 3 for name, shape in shapes.items()}
    workers = []
    for name, source in (("ours, rows", made["rows"]), ("ours, static", made["static"]), ("ours, FP32", args.model)):
        plan = folder / f"{name.split()[-1]}{args.isa}.plan"
        plan.write_bytes(wootz.build(str(source), shapes=ranges, options=options))
        workers.append(Worker(name, "wootz", source, plan, args.feed, args.threads))
    for name, runtime, source in (("ONNX Runtime, quantize_dynamic", "ort", made["ort"]), ("ONNX Runtime, rows", "ort", made["rows"]), ("ONNX Runtime, FP32", "ort", args.model),
                                  ("OpenVINO, weights in 8 bits, groups", "openvino_dynamic", made["weights"]), ("OpenVINO, FP32", "openvino", args.model)):
        try:
            workers.append(Worker(name, runtime, source, "", args.feed, args.threads))
        except RuntimeError as error:
            print(f"{name}: {str(error)[:300]}", file=sys.stderr)
    outputs = {w.name: w.outputs(folder / "outputs.npz") for w in workers}
    exact = outputs["ONNX Runtime, FP32"]
    distance = lambda a: max(float(np.sqrt(np.square(a[k] - v).mean() / np.square(v).mean())) for k, v in exact.items())
    for _ in range(args.rounds):
        for w in random.sample(workers, len(workers)):
            w.times.append(w.ask(cmd="time", seconds=args.seconds)["ms"])
    rows = [{"how": w.name, "ms": round(statistics.median(w.times), 4), "of_first": round(statistics.median(a / b for a, b in zip(w.times, workers[0].times)), 4),
             "error": round(distance(outputs[w.name]), 5)} for w in workers]
    for row in rows:
        print(f"{row['how']:38} {row['ms']:8.3f} ms  {row['of_first']:6.3f} of the first  error {row['error']:.4f}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"model": pathlib.Path(args.model).name, "threads": args.threads, "isa": args.isa, "rounds": args.rounds, "rows": rows}, indent=1))
    for w in workers:
        w.process.kill()


if __name__ == "__main__":
    main()
