"""Products by weights of 4 and 8 bits that stay packed. Run by test_device.py in a process of its own, with the backends to try in
WOOTZ_CASES, and by test_weight_only.py."""
import json
import os

import ml_dtypes
import numpy as np
import onnx
import pytest
import wootz
from onnx import TensorProto, helper, numpy_helper

BACKENDS = os.environ.get("WOOTZ_CASES", "cpu").split()
SEED = int(os.environ.get("WOOTZ_SEED", int.from_bytes(os.urandom(4), "little")))
RANGES = {"INT4": (-8, 7), "UINT4": (0, 15), "INT8": (-128, 127), "UINT8": (0, 255)}


def stored(name, kind, values):
    """The values as they lie in a file: of 4 bits the first one low."""
    flat = values.reshape(-1)
    if kind.endswith("4"):
        flat = np.append(flat, 0)[:(flat.size + 1) // 2 * 2] & 15
        return helper.make_tensor(name, getattr(TensorProto, kind), values.shape, (flat[::2] | flat[1::2] << 4).astype(np.uint8).tobytes(), raw=True)
    return helper.make_tensor(name, getattr(TensorProto, kind), values.shape, flat.astype(np.int8 if kind == "INT8" else np.uint8).tobytes(), raw=True)


class Product:
    """x [rows, depth] times weights [depth, columns] of `kind`, or transposed, with a bias and an activation."""

    def __init__(self, rng, kind, depth, columns, block, zero, transposed, dtype=np.float32):
        low, high = RANGES[kind]
        blocks, repeat = (1, depth) if block is None else (-(-depth // block), block)
        w = rng.integers(low, high + 1, (depth, columns))
        scale = rng.uniform(0.5, 1.5, (blocks, columns)).astype(dtype) / dtype(high * np.sqrt(depth))
        zeros = rng.integers(low, high + 1, (blocks, columns)) if zero else np.zeros((blocks, columns), int)
        bias = rng.standard_normal(columns).astype(dtype)
        spread = lambda v: np.repeat(v, repeat, axis=0)[:depth].astype(np.float64)
        plain = (w - spread(zeros)) * spread(scale)
        self.want = lambda x: np.maximum(x.astype(np.float64) @ plain + bias, 0)
        turn = (lambda v: v.T) if transposed else lambda v: v
        axis = {"axis": 1 if transposed else 0, "block_size": block} if block else {"axis": 0 if transposed else 1}
        shape = (lambda v: turn(v)) if block else lambda v: v.reshape(-1)
        constants = [stored("w", kind, turn(w)), numpy_helper.from_array(np.ascontiguousarray(shape(scale)), "scale"), numpy_helper.from_array(bias, "bias")]
        if zero:
            constants.append(stored("zero", kind, shape(zeros)))
        nodes = [helper.make_node("DequantizeLinear", ["w", "scale"] + ["zero"] * zero, ["d"], "dequantize", **axis),
                 helper.make_node("Gemm", ["x", "d", "bias"], ["s"], "product", transB=int(transposed)), helper.make_node("Relu", ["s"], ["y"], "relu")]
        elem = TensorProto.FLOAT if dtype == np.float32 else TensorProto.FLOAT16
        info = helper.make_tensor_value_info
        graph = helper.make_graph(nodes, "weight_only", [info("x", elem, ["rows", depth])], [info("y", elem, ["rows", columns])], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        onnx.checker.check_model(model)
        self.model = model.SerializeToString()
        self.depth, self.columns, self.dtype = depth, columns, dtype


class FloatProduct:
    """The same by floats of 4 or 8 bits. scales: "f32" (or of `dtype`), "e4m3", which another DequantizeLinear brings back, or "e8m0"."""

    def __init__(self, rng, kind, depth, columns, block, scales, transposed, dtype=np.float32):
        small = {"FLOAT4E2M1": ml_dtypes.float4_e2m1fn, "FLOAT8E4M3FN": ml_dtypes.float8_e4m3fn, "FLOAT8E5M2": ml_dtypes.float8_e5m2}[kind]
        largest = float(ml_dtypes.finfo(small).max)
        blocks, repeat = (1, depth) if block is None else (-(-depth // block), block)
        # Codes of all sizes, small ones and zeros too, whose root mean square is about a half of the largest or of 8.
        w = (np.clip(rng.standard_normal((depth, columns)) / 2, -1, 1) * 2.0 ** -rng.integers(0, 6, (depth, columns))).astype(np.float32)
        w = (w * min(largest, 32)).astype(small)
        unit = 1 / (min(largest, 32) * np.sqrt(depth) / 4)
        if scales == "e8m0":
            scale = np.exp2(np.round(np.log2(unit)) + rng.integers(-1, 2, (blocks, columns))).astype(ml_dtypes.float8_e8m0fnu)
        elif scales == "e4m3":
            scale = rng.uniform(20, 200, (blocks, columns)).astype(ml_dtypes.float8_e4m3fn)
        else:
            scale = (rng.uniform(0.5, 1.5, (blocks, columns)) * unit).astype(dtype)
        of_all = dtype(unit / 100)
        bias = rng.standard_normal(columns).astype(dtype)
        spread = np.repeat(scale.astype(np.float64), repeat, axis=0)[:depth] * (float(of_all) if scales == "e4m3" else 1)
        plain = w.astype(np.float64) * spread
        self.want = lambda x: np.maximum(x.astype(np.float64) @ plain + bias, 0)
        turn = (lambda v: np.ascontiguousarray(v.T)) if transposed else lambda v: v
        axis = {"axis": 1 if transposed else 0, "block_size": block} if block else {"axis": 0 if transposed else 1}
        elem = TensorProto.FLOAT if dtype == np.float32 else TensorProto.FLOAT16
        if scales == "e8m0":
            axis["output_dtype"] = elem
        constants = [numpy_helper.from_array(turn(w), "w"), numpy_helper.from_array(turn(scale) if block else scale.reshape(-1), "scale"),
                     numpy_helper.from_array(bias, "bias")]
        nodes = []
        if scales == "e4m3":
            constants.append(numpy_helper.from_array(np.array(of_all), "of_all"))
            nodes.append(helper.make_node("DequantizeLinear", ["scale", "of_all"], ["scales"], "scales"))
        nodes += [helper.make_node("DequantizeLinear", ["w", "scales" if nodes else "scale"], ["d"], "dequantize", **axis),
                  helper.make_node("Gemm", ["x", "d", "bias"], ["s"], "product", transB=int(transposed)), helper.make_node("Relu", ["s"], ["y"], "relu")]
        info = helper.make_tensor_value_info
        graph = helper.make_graph(nodes, "weight_only", [info("x", elem, ["rows", depth])], [info("y", elem, ["rows", columns])], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=12)
        onnx.checker.check_model(model, full_check=True)
        self.model = model.SerializeToString()
        self.depth, self.columns, self.dtype = depth, columns, dtype


def run(plan, x):
    engine = wootz.Runtime(wootz.Logger(wootz.Logger.ERROR)).deserialize_cuda_engine(plan)
    return wootz.infer(engine.create_execution_context(), {"x": x})["y"]


def build(product, backend, rows, most=None, report=None, **options):
    return wootz.build(product.model, shapes={"x": ((1, product.depth), (rows, product.depth), (most or rows, product.depth))},
                       options={"backend": backend, "timing": "0", **options}, report=report)


def check(actual, want, dtype):
    # Sums of `depth` terms of about one part of the root of it each: the results' scale is about 1.
    limit = {np.float32: 2e-5, np.float16: 6e-3}[dtype]
    difference = np.abs(actual.astype(np.float64) - want)
    assert np.isfinite(actual).all() and (difference <= limit * np.maximum(1, np.abs(want))).all(), difference.max()


CASES = [(kind, block, zero) for kind in RANGES for block in (None, 32, 64, 128) for zero in (False, True)]
SOME = [("INT4", 32, False), ("UINT4", 128, True), ("INT8", None, True)]  # where compiling is slow; kernels_e2e has the others


@pytest.mark.parametrize("backend,kind,block,zero", [(b, *case) for b in BACKENDS for case in (SOME if b == "cuda" else CASES)])
def test_products_are_what_their_weights_say(backend, kind, block, zero):
    rng = np.random.default_rng([SEED, list(RANGES).index(kind), block or 0, zero])
    print(f"seed: WOOTZ_SEED={SEED}")
    depth, columns = int(rng.integers(16, 300)), int(rng.integers(16, 130))
    transposed, dtype = bool(rng.integers(2)), [np.float32, np.float16][int(rng.integers(2)) if backend != "reference" else 0]
    product = Product(rng, kind, depth, columns, block, zero, transposed, dtype)
    rows = int(rng.integers(1, 34))
    plan = build(product, backend, rows, 33)
    for n in {1, rows, 33}:
        x = rng.standard_normal((n, depth)).astype(dtype)
        check(run(plan, x), product.want(x), dtype)


FLOAT_CASES = [("FLOAT4E2M1", 16, "e4m3"), ("FLOAT4E2M1", 32, "f32"), ("FLOAT4E2M1", None, "f32"), ("FLOAT8E4M3FN", 32, "e8m0"),
               ("FLOAT8E4M3FN", None, "f32"), ("FLOAT8E5M2", 64, "f32"), ("FLOAT8E5M2", 16, "e4m3")]


@pytest.mark.parametrize("backend,kind,block,scales", [(b, *case) for b in BACKENDS for case in (FLOAT_CASES[:4:3] if b == "cuda" else FLOAT_CASES)])
def test_products_are_what_their_floats_say(backend, kind, block, scales, tmp_path):
    rng = np.random.default_rng([SEED, FLOAT_CASES.index((kind, block, scales))])
    print(f"seed: WOOTZ_SEED={SEED}")
    depth, columns = int(rng.integers(24, 300)), int(rng.integers(22, 130))
    transposed, dtype = bool(rng.integers(2)), [np.float32, np.float16][int(rng.integers(2)) if backend != "reference" else 0]
    product = FloatProduct(rng, kind, depth, columns, block, scales, transposed, dtype)
    rows, report = int(rng.integers(1, 34)), tmp_path / "report.json"
    plan = build(product, backend, rows, 33, report=report)
    if backend == "cpu":
        packed = [layer for layer in json.loads(report.read_text())["layers"] if "weight_only" in layer["TacticName"]]
        assert [layer["Weights"]["Count"] for layer in packed] == [depth * columns]
    plans = [plan] + ([build(product, backend, rows, 33, isa="avx2")] if backend == "cpu" else [])
    for n in {1, rows, 33}:
        x = rng.standard_normal((n, depth)).astype(dtype)
        for each in plans:
            check(run(each, x), product.want(x), dtype)


@pytest.mark.parametrize("backend,zero", [(b, z) for b in BACKENDS if b != "reference" for z in (False, True) if b == "cpu" or z])
def test_the_plan_keeps_four_bits(backend, zero, tmp_path):
    rng = np.random.default_rng([SEED, 99, zero])
    print(f"seed: WOOTZ_SEED={SEED}")
    product = Product(rng, "UINT4" if zero else "INT4", 1024, 512, 128, zero, False)
    report = tmp_path / "report.json"
    plan = build(product, backend, 1, report=report)
    layers = json.loads(report.read_text())["layers"]
    packed = next(layer for layer in layers if "weight_only" in layer["TacticName"])
    assert packed["Weights"] == {"Type": packed["Weights"]["Type"], "Count": 1024 * 512} and "4" in packed["Weights"]["Type"]
    bare, wide = build(product, backend, 1), build(product, backend, 1, disable_passes="fuse_weight_only")
    assert 1024 * 512 / 2 < len(bare) < len(wide) / 6 and len(plan) >= len(bare)
    x = rng.standard_normal((1, 1024)).astype(np.float32)
    check(run(bare, x), product.want(x), np.float32)
    if backend == "cpu":
        check(run(wide, x), product.want(x), np.float32)
        check(run(build(product, backend, 1, disable_passes="all"), x), product.want(x), np.float32)
