#!/usr/bin/env python3
"""What passes are worth: one model built with and without some of them, run in turns on one thread.

    PYTHONPATH=build/release/python python bench/passes.py --models DIR NAME --without PASS,PASS [--without ...]

DIR holds ONNX models and a manifest.json (see bench.py). Printed is the processor time of the calling thread, not the time that
passed, so that other programs disturb little; ratios count.
"""
import argparse
import json
import pathlib
import tempfile
import time

import numpy as np

import bench
from worker import keep_addresses


def plan_file(model, shapes, without, timing, folder, index):
    import wootz

    file = folder / f"{index}.plan"
    options = {"backend": "cpu", "threads": "1", "timing": "1" if timing else "0", "disable_passes": without}
    file.write_bytes(wootz.build(model, shapes=shapes, options=options))
    return file


def main():
    import wootz as trt

    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--timing", action="store_true", help="choose kernels by timing them, not by estimates")
    parser.add_argument("--runs", type=int, default=40)
    args = parser.parse_args()
    spec = json.loads((args.models / "manifest.json").read_text())[args.name]
    model, inputs = args.models / spec["file"], bench.make_inputs(spec["inputs"])
    trt.set_thread_pool(1)
    logger = trt.Logger(trt.Logger.ERROR)
    runtime = trt.Runtime(logger)
    kept, rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        for i, without in enumerate(["", *args.without]):
            shapes = bench.dynamic_shapes(model, spec["inputs"])
            file = plan_file(model, shapes, without, args.timing, pathlib.Path(folder), i)
            engine = trt.load_engine(runtime, str(file))
            context = engine.create_execution_context()
            given = {name: np.ascontiguousarray(value) for name, value in inputs.items()}
            kept.append((engine, given, keep_addresses(context, given, trt.infer(context, given))))
            rows.append((without or "all passes", context, []))
        for _ in range(args.runs):
            for _, context, times in rows:
                start = time.thread_time()
                if not context.execute_async_v3(0):
                    raise RuntimeError("the inference failed")
                times.append((time.thread_time() - start) * 1e3)
    first = sorted(rows[0][2])[args.runs // 4]
    for name, _, times in rows:
        quarter = sorted(times)[args.runs // 4]
        print(f"{quarter:9.3f} ms  {quarter / first:6.3f}  {'' if name == 'all passes' else 'without '}{name}")


if __name__ == "__main__":
    main()
