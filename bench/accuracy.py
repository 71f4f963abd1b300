#!/usr/bin/env python3
"""What INT8 and BF16 cost networks with real weights, beside ONNX Runtime's static quantization with the same samples.

    python bench/accuracy.py [--only ppocr_rec,minilm,digits] [--ways int8,dynamic,bf16,sparse,ort] [--fonts FOLDER,...] [--digits FILE] [--json FILE]

Lines of text are drawn in the fonts that the folders hold (default: those of the system) and in Pillow's. The digits are those in a wheel of
scikit-learn, or in its folder. A row is a network in one precision, its score and how far that is below FP32's; "bar" is how far it may be. "sparse"
is of weights pruned 2:4 by magnitude with no training after that, which has no bar. The
exit status is 1 where one of ours misses its bar, or where the best of ONNX Runtime's is better by more than the bar.
"""
import argparse
import contextlib
import io
import json
import logging
import pathlib
import re
import sys
import tempfile
import time

import numpy as np

from accuracy_tasks import Digits, Recognizer, Sentences

FLAGS = set(re.findall(r"\w+", pathlib.Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0]))
ALGORITHMS = ("least_error", "entropy2", "entropy", "minmax", "legacy")
# Of ONNX Runtime: calibration method, and operators that are quantized; None: all that it can.
LAYERS = ["Conv", "MatMul", "Gemm"]
THEIRS = {"MinMax": ("MinMax", None), "Percentile": ("Percentile", None), "MinMax, products": ("MinMax", LAYERS), "Percentile, products": ("Percentile", LAYERS),
          "Entropy, products": ("Entropy", LAYERS)}


def log(text):
    print(text, file=sys.stderr, flush=True)


def ours(task, **how):
    """Builds, and gives the function from inputs to the output."""
    import wootz

    model = how.pop("model", task.model)
    shapes = {name: (shape,) * 3 for name, shape in task.shapes().items()}
    plan = wootz.build(str(model), shapes=shapes, options={"backend": "cpu", "timing": "0"}, **how)
    context = wootz.Runtime(wootz.Logger(wootz.Logger.ERROR)).deserialize_cuda_engine(plan).create_execution_context()
    return lambda feeds: next(iter(wootz.infer(context, feeds).values()))


def quantized(task, folder):
    """By wootz quantize as it is, whose model is then built."""
    import wootz

    wootz.quantize(str(task.model), folder / "int8.onnx", data=task.batches(task.samples), shapes=task.shapes(), options={"backend": "cpu", "timing": "0"})
    return ours(task, model=folder / "int8.onnx")


def by_rows(task, folder):
    """Scales for each row, found while the model runs: without samples."""
    import wootz

    wootz.quantize(str(task.model), folder / "dynamic.onnx", dynamic=True, shapes=task.shapes(), options={"backend": "cpu", "timing": "0"})
    return ours(task, model=folder / "dynamic.onnx")


def dynamic_by_them(task, folder):
    """ONNX Runtime's quantize_dynamic: a scale for each tensor, found while the model runs; computed by it."""
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(str(task.model), str(folder / "theirs.onnx"), weight_type=QuantType.QInt8)
    session = onnxruntime.InferenceSession(str(folder / "theirs.onnx"), providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)[0]


def pruned(task, folder, form):
    """Weights with two zeros in each four, without any training; gives the report's error too."""
    import wootz

    out = folder / f"sparse_{form}.onnx"
    report = wootz.quantize(str(task.model), out, data=task.batches(task.samples), format=form, sparse="2:4", shapes=task.shapes(),
                            options={"backend": "cpu", "timing": "0"})
    log(f"{task.name} in {form}, {report['layers_pruned']} of {len(report['layers'])} layers pruned 2:4: error of the output {report['error']:.4f}")
    return ours(task, model=out)


def in_bf16(task, folder):
    """By the flag where the processor computes in BF16; elsewhere the model is written in BF16 and computed by the kernels that widen each value."""
    import wootz

    if FLAGS & {"avx512_bf16", "amx_bf16"}:
        return ours(task, precision="bf16")
    wootz.quantize(str(task.model), folder / "bf16.onnx", data=next(task.batches(task.samples)), format="bf16", shapes=task.shapes(),
                   options={"backend": "cpu", "timing": "0"})
    return ours(task, model=folder / "bf16.onnx")


def theirs(model):
    import onnxruntime

    for level in ("ORT_ENABLE_ALL", "ORT_DISABLE_ALL"):  # its optimizer fails on some of its own models
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.add_session_config_entry("session.x64quantprecision", "1")  # or sums of 8-bit products saturate where the processor has none
        try:
            session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            return lambda feeds: session.run(None, feeds)[0]
        except Exception as error:  # noqa: BLE001: it has no narrower one
            failure = error
    raise failure


def quantized_by_them(task, how, folder):
    """QDQ in i8, weights by channel, after the preparation that its documentation recommends."""
    import onnx.version_converter
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.rest = task.batches(task.samples)

        def get_next(self):
            return next(self.rest, None)

    logging.disable(logging.WARNING)
    method, ops = THEIRS[how]
    prepared, made = folder / "prepared.onnx", folder / "ort.onnx"
    model = onnx.load(str(task.model))
    if model.opset_import[0].version < 17:  # scales by channel need 13
        model = onnx.version_converter.convert_version(model, 17)
    with contextlib.redirect_stdout(io.StringIO()):
        quant_pre_process(model, str(prepared), skip_symbolic_shape=True, skip_optimization=True)
        quantize_static(str(prepared), str(made), Reader(), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QInt8,
                        weight_type=QuantType.QInt8, op_types_to_quantize=ops, calibrate_method=CalibrationMethod[method])
    return theirs(made)


def ways_of(task, chosen, folder):
    """[(precision, how, function that makes the network)]"""
    ways = []
    if "int8" in chosen:
        ways.append(("int8", "quantize", lambda: quantized(task, folder)))
        ways += [("int8", name, lambda name=name: ours(task, calibration_data=task.batches(task.samples), calibration_algorithm=name)) for name in ALGORITHMS]
    if "bf16" in chosen:
        ways.append(("bf16", "flag" if FLAGS & {"avx512_bf16", "amx_bf16"} else "model", lambda: in_bf16(task, folder)))
    if "dynamic" in chosen:
        ways.append(("int8", "quantize --dynamic", lambda: by_rows(task, folder)))
        ways.append(("int8", "ONNX Runtime, quantize_dynamic", lambda: dynamic_by_them(task, folder)))
    if "sparse" in chosen:
        ways += [(form, "quantize, 2:4", lambda form=form: pruned(task, folder, form)) for form in ("fp32", "int8")]
    if "ort" in chosen:
        ways += [("int8", f"ONNX Runtime, {name}", lambda name=name: quantized_by_them(task, name, folder)) for name in THEIRS]
    return ways


def rows_of(task, chosen):
    """A row for each way, those that cannot be had with the reason."""
    exact = task.compute(ours(task))
    base = task.score(exact, exact)
    yield {"task": task.name, "unit": task.unit, "precision": "fp32", "how": "", "score": base, "below": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        for precision, how, make in ways_of(task, chosen, pathlib.Path(folder)):
            row, began = {"task": task.name, "unit": task.unit, "precision": precision, "how": how}, time.perf_counter()
            try:
                row["score"] = task.score(task.compute(make()), exact)
                row["below"] = base - row["score"]
            except Exception as error:  # noqa: BLE001: a peer's failure is a result
                if "ONNX Runtime" not in how:
                    raise
                row["failed"] = f"{type(error).__name__}: {error}"[:300]
            if how in task.held:
                row["bar"] = task.bars[precision]
            yield {**row, "seconds": round(time.perf_counter() - began, 1)}


def together(rows):
    """The folds of the digits as one row each, with the mean of their scores."""
    merged = {}
    for row in rows:
        name = re.sub(r"_\d+$", "", row["task"])
        merged.setdefault((name, row["precision"], row["how"]), []).append({**row, "task": name})
    mean = lambda group, key: float(np.mean([row[key] for row in group])) if all(key in row for row in group) else None
    return [{**group[0], **{key: mean(group, key) for key in ("score", "below") if key in group[0]}} for group in merged.values()]


def missed(rows):
    """What keeps no bar, as text."""
    lines = []
    for row in rows:
        if "bar" not in row:
            continue
        if row["below"] > row["bar"]:
            lines.append(f"{row['task']} in {row['precision']} ({row['how']}) is {row['below']:.5f} below FP32, more than {row['bar']}")
        rivals = [other["score"] for other in rows if other["task"] == row["task"] and "ONNX Runtime" in other["how"] and "score" in other]
        if row["precision"] == "int8" and row["how"] == "quantize" and rivals and max(rivals) > row["score"] + row["bar"]:
            lines.append(f"{row['task']}: {row['score']:.5f} in INT8, and {max(rivals):.5f} by ONNX Runtime")
    return lines


def tasks_of(args, folder):
    makers = {"ppocr_rec": lambda: [Recognizer(folder, args.seed, args.lines, args.fonts.split(","), args.samples)],
              "minilm": lambda: [Sentences(folder, args.seed, args.pairs, args.samples)],
              "digits": lambda: [Digits(folder, args.seed, args.digits, fold) for fold in range(3)] if args.digits else []}
    for name in args.only.split(","):
        if name not in makers:
            raise SystemExit(f"--only: there are {', '.join(makers)}")
        yield from makers[name]()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="ppocr_rec,minilm,digits")
    parser.add_argument("--ways", default="int8,bf16,ort")
    parser.add_argument("--fonts", default="/usr/share/fonts")
    parser.add_argument("--digits", help="a wheel of scikit-learn or the folder that it is installed in; without it the digits are left out")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--samples", type=int, default=64, help="rows to calibrate with")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks_of(args, folder):
            for row in rows_of(task, args.ways.split(",")):
                rows.append(row)
                log(json.dumps(row))
    rows = together(rows)
    for row in rows:
        print(f"{row['task']:12s}{row['precision']:6s}{row['how']:28s}" + (f"{row['score']:10.5f}{row['below']:10.5f}{row.get('bar', ''):>8}" if "score" in row else row["failed"]))
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")
    wrong = missed(rows)
    print("\n".join(wrong) or "every bar is kept")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
