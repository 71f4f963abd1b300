#!/usr/bin/env python3
"""Writes seeds of the ONNX and the plan fuzz targets out of real models and of small graphs of every kind.

    .venv/bin/python tools/fuzz/seeds_real.py DIR [--wootz build/release/bin/wootz]

DIR/import_fuzz gets models: one for each operator; windows of a few nodes out of the real ones, without their
weights. DIR/plan_fuzz gets a plan of each that builds. Weights of more than a few numbers become inputs, so that a seed is small.
"""

import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import warnings

import onnx
from onnx import helper, shape_inference
from onnx.backend.test.case.node import collect_testcases

import seeds_onnx

SMALL = 256  # bytes of a constant that stays
WINDOWS = (10, 40)  # nodes
LARGEST = 1 << 15  # bytes of a seed: mutating larger ones is too slow


def real_models():
    packages = pathlib.Path(sysconfig.get_paths()["purelib"])
    return sorted(packages.glob("rapidocr_onnxruntime/models/*.onnx"))


def without_weights(model):
    """Large constants become inputs of their type and shape."""
    graph = model.graph
    kept, inputs = [], []
    for tensor in graph.initializer:
        if tensor.ByteSize() <= SMALL:
            kept.append(tensor)
        else:
            inputs.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    nodes = []
    for node in graph.node:
        value = next((a.t for a in node.attribute if a.name == "value"), None) if node.op_type == "Constant" else None
        if value is None or value.ByteSize() <= SMALL:
            nodes.append(node)
        else:
            inputs.append(helper.make_tensor_value_info(node.output[0], value.data_type, value.dims))
    known = {i.name for i in graph.input}
    small = onnx.ModelProto()
    small.CopyFrom(model)
    for field, values in (("initializer", kept), ("node", nodes)):
        small.graph.ClearField(field)
        getattr(small.graph, field).extend(values)
    small.graph.input.extend(i for i in inputs if i.name not in known)
    small.graph.ClearField("value_info")
    small.ClearField("metadata_props")
    return small


def windows(model, size):
    """Runs of so many neighbouring nodes as models; what they read from elsewhere becomes their inputs."""
    graph = shape_inference.infer_shapes(model).graph
    types = {v.name: v for v in (*graph.value_info, *graph.input, *graph.output)}
    constants = {n.output[0]: n for n in graph.node if n.op_type == "Constant"}
    initializers = {t.name: t for t in graph.initializer}
    nodes = [n for n in graph.node if n.op_type != "Constant"]
    for start in range(0, len(nodes), size):
        part = nodes[start : start + size]
        made = {name for n in part for name in n.output if name}
        read = list(dict.fromkeys(name for n in part for name in n.input if name and name not in made))
        used_later = {name for n in nodes[start + size :] for name in n.input} | {o.name for o in graph.output}
        outputs = [name for n in part for name in n.output if name in used_later]
        inputs = [name for name in read if name not in constants and name not in initializers]
        if not outputs or not all(name in types and types[name].type.tensor_type.HasField("shape") for name in inputs):
            continue
        yield helper.make_model(
            helper.make_graph(
                [*(constants[name] for name in read if name in constants), *part], "window", [types[name] for name in inputs],
                [types.get(name) or helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs],
                [initializers[name] for name in read if name in initializers]),
            opset_imports=model.opset_import, ir_version=model.ir_version)


def op_models():
    """One small model for each operator, out of ONNX's own tests."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(None):
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    best = {}
    for model in (case.model for case in cases if case.model is not None):
        name, size = model.graph.node[0].op_type, model.ByteSize()
        if size < 1500 and (name not in best or size > best[name].ByteSize()):
            best[name] = model
    return sorted(best.items())


def models():
    yield from op_models()
    for make in seeds_onnx.SEEDS:
        yield make.__name__, make()
    for path in real_models():
        model = without_weights(onnx.load(path))
        for size in WINDOWS:
            for number, window in enumerate(windows(model, size)):
                yield f"{path.stem}_{size}_{number}", window


def profile(model):
    """Options with a range of shapes for the inputs that have open dimensions: batches of 1 to 2, images of 32 to 48."""
    shapes = {"min": [], "opt": [], "max": []}
    for value in model.graph.input:
        dims = [max(0, d.dim_value) for d in value.type.tensor_type.shape.dim]
        if all(dims):
            continue
        for which, batch, extent in (("min", 1, 32), ("opt", 1, 48), ("max", 2, 48)):
            filled = [d or (extent if axis else batch) for axis, d in enumerate(dims)]
            shapes[which].append(f"{value.name}:{'x'.join(map(str, filled))}")
    return [option for which, list_ in shapes.items() if list_ for option in (f"--{which}Shapes", ",".join(list_))]


def build_plan(wootz, path, plan):
    """None, or why there is no plan: a model that does not build is no seed for plans."""
    command = [wootz, "build", str(path), "-o", str(plan), "--device", "cpu", "--no-timing", *profile(onnx.load(path, load_external_data=False))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        return f"{path.name}: {done.stderr.strip()[-300:]}"
    if plan.stat().st_size > LARGEST:
        plan.unlink()
        return f"{path.name}: its plan is large"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--wootz", help="the command line tool that builds the plans; without it none are built")
    parser.add_argument("--verbose", action="store_true", help="say why a model has no plan")
    args = parser.parse_args()
    import_dir, plan_dir = args.folder / "import_fuzz", args.folder / "plan_fuzz"
    for folder in (import_dir, plan_dir):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    paths = []
    for name, model in models():
        data = model.SerializeToString(deterministic=True)
        if len(data) <= LARGEST:
            paths.append(import_dir / f"{name}.onnx")
            paths[-1].write_bytes(data)
    if args.wootz:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = [pool.submit(build_plan, args.wootz, p, plan_dir / f"{p.stem}.plan") for p in paths]
            for problem in filter(None, (job.result() for job in jobs)):
                if args.verbose:
                    print(problem, file=sys.stderr)
    print(f"{len(list(import_dir.iterdir()))} models, {len(list(plan_dir.iterdir()))} plans")


if __name__ == "__main__":
    main()
