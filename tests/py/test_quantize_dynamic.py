"""wootz.quantize(dynamic=True): scales for each row, found while the model runs, against ONNX Runtime; and other ways to spell them out."""
import json
import os
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
import wootz
from onnx import TensorProto, helper, numpy_helper
from test_fusions import plans
from test_quantize import distance, model, ours, samples, save, theirs  # noqa: F401

Plan = plans.Plan
SEED = int(os.environ.get("WOOTZ_SEED", "1"))
OPTIONS = {"backend": "cpu", "timing": "0"}
WOOTZ = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", pathlib.Path(__file__).resolve().parents[2] / "build" / "release")).resolve() / "bin" / "wootz"
WIDTH, HIDDEN, ROWS = 96, 160, 7


def draw(rng, *shape):
    return (rng.normal(0, 1, shape) / np.sqrt(shape[0])).astype(np.float32)


def block(path):
    """A transformer's feed-forward block: normalization, product, GELU, product, residual."""
    rng = np.random.default_rng(SEED)
    constants = {"s": draw(rng, WIDTH) * 3 + 1, "b": draw(rng, WIDTH), "w1": draw(rng, WIDTH, HIDDEN), "b1": draw(rng, HIDDEN),
                 "w2": draw(rng, HIDDEN, WIDTH), "b2": draw(rng, WIDTH)}
    node = helper.make_node
    nodes = [node("LayerNormalization", ["x", "s", "b"], ["n"], "norm", axis=-1), node("MatMul", ["n", "w1"], ["p1"], "product1"),
             node("Add", ["p1", "b1"], ["h"], "bias1"), node("Gelu", ["h"], ["g"], "gelu"), node("MatMul", ["g", "w2"], ["p2"], "product2"),
             node("Add", ["p2", "b2"], ["q"], "bias2"), node("Add", ["q", "n"], ["y"], "residual")]
    return save(path, nodes, {"x": [2, ROWS, WIDTH]}, {"y": [2, ROWS, WIDTH]}, constants, opset=20)


@pytest.fixture(scope="module")
def feed_forward(tmp_path_factory):
    return block(tmp_path_factory.mktemp("dynamic") / "model.onnx")


@pytest.fixture(scope="module")
def tokens():
    """Rows of different sizes, one of zeros."""
    x = np.random.default_rng(SEED + 1).normal(0, 1, (2, ROWS, WIDTH)).astype(np.float32)
    x *= np.exp(np.arange(2 * ROWS) / 3 - 2).reshape(2, ROWS, 1).astype(np.float32)
    x[0, 3] = 0
    return x


def steps_of(path):
    """Families of the plan's kernels."""
    return Plan(onnx.load(path)).steps


def test_what_is_written_runs_anywhere_and_alike(feed_forward, tokens, tmp_path):
    out = tmp_path / "out.onnx"
    report = wootz.quantize(feed_forward, out, dynamic=True, options=OPTIONS)
    assert report["layers_in_format"] == 2 and {layer["format"] for layer in report["layers"]} == {"int8-dynamic"}
    written = onnx.load(out)
    onnx.checker.check_model(written, full_check=True)
    ops = [n.op_type for n in written.graph.node]
    assert (ops.count("QuantizeLinear"), ops.count("ReduceMax"), ops.count("DequantizeLinear")) == (2, 2, 4)
    y, theirs_of_it, plain = ours(out, tokens), theirs(out, tokens, optimized=False), theirs(feed_forward, tokens)
    assert distance(y, theirs_of_it) < 2e-3
    assert distance(y, plain) < 0.02 and distance(theirs_of_it, plain) < 0.02
    without = ours(out, tokens, **{"disable_passes": "quantize_rows"})
    assert distance(y, without) < 2e-3


def test_the_steps_read_bytes(feed_forward, tmp_path):
    out = tmp_path / "out.onnx"
    wootz.quantize(feed_forward, out, dynamic=True, options=OPTIONS)
    assert sorted(steps_of(out)) == ["gemm", "gemm", "quantize", "quantize"]


def test_convolutions_stay_in_float_and_data_measure_errors(model, samples, tmp_path):
    report = wootz.quantize(model, tmp_path / "out.onnx", data={"x": samples}, dynamic=True, options=OPTIONS)
    by_name = {layer["name"]: layer for layer in report["layers"]}
    assert "for products" in by_name["conv1"]["why_not"] and by_name["product2"]["in_format"]
    assert 0 < report["error"] < 0.05
    assert distance(ours(tmp_path / "out.onnx", samples[:2]), theirs(tmp_path / "out.onnx", samples[:2], optimized=False)) < 2e-3
    kept = wootz.quantize(model, tmp_path / "kept.onnx", data={"x": samples}, dynamic=True, keep=["product1"], options=OPTIONS)
    assert kept["layers_in_format"] == 1
    both = wootz.quantize(model, tmp_path / "both.onnx", data={"x": samples}, format="int8-dynamic,int8", best=True, options=OPTIONS)
    assert {layer["format"] for layer in both["layers"] if layer["in_format"]} <= {"int8", "int8-dynamic"}
    measured = wootz.quantize(model, tmp_path / "measured.onnx", data={"x": samples}, dynamic=True, sensitivity=True, options=OPTIONS)
    budget = min(layer["sensitivity"] for layer in measured["layers"] if layer["in_format"]) * 1.01
    strict = wootz.quantize(model, tmp_path / "strict.onnx", data={"x": samples}, dynamic=True, budget=budget, options=OPTIONS)
    assert strict["error"] <= budget and strict["layers_in_format"] == 1


def test_refusals(model, tmp_path):
    out = tmp_path / "out.onnx"
    for how, why in (({"format": "fp8"}, "'dynamic' is of int8"), ({"format": "int4"}, "'dynamic' is of int8"), ({"algorithm": "minmax"}, "no ranges"),
                     ({"zero_points": True}, "zero_points"), ({"bias_correction": False}, "bias_correction"), ({"block": 32}, "block")):
        with pytest.raises(ValueError, match=why):
            wootz.quantize(model, out, dynamic=True, data={"x": np.zeros((2, 8, 8, 8), np.float32)}, options=OPTIONS, **how)
    with pytest.raises(ValueError, match="representative inputs"):
        wootz.quantize(model, out, options=OPTIONS)


def test_the_command_line(feed_forward, tmp_path):
    run = lambda *how: subprocess.run([str(WOOTZ), "quantize", feed_forward, "-o", str(tmp_path / "out.onnx"), "--device", "cpu", *how], capture_output=True, text=True)
    made = run("--format", "int8", "--dynamic", "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["layers_in_format"] == 2
    assert run("--format", "fp8", "--dynamic").returncode != 0


def spelled_out(path, form):
    """The same product by rows in other words: see docs/quantization.md."""
    rng = np.random.default_rng(SEED + 2)
    w, ws = rng.integers(-127, 128, (WIDTH, HIDDEN)).astype(np.int8), (np.abs(draw(rng, HIDDEN)) + 0.01).astype(np.float32)
    constants = {"w": w, "ws": ws, "levels": np.float32(127), "inverse": np.float32(1 / 127), "zero": np.float32(0), "one": np.float32(1),
                 "low": np.float32(-127), "high": np.float32(127), "axis": np.array([-1], np.int64), "bias": draw(rng, HIDDEN)}
    node = helper.make_node
    nodes = [node("Abs", ["x"], ["a"]), node("ReduceMax", ["a", "axis"], ["m"], keepdims=1)]
    nodes += [node("Mul", ["m", "inverse"], ["s0"])] if form == "factor" else [node("Div", ["m", "levels"], ["s0"])]
    nodes += [node("Equal", ["s0", "zero"], ["none"]), node("Where", ["none", "one", "s0"], ["s"])]
    if form == "blocked":
        nodes += [node("QuantizeLinear", ["x", "s"], ["q"], axis=-1, block_size=WIDTH, output_dtype=TensorProto.INT8)]
    else:
        nodes += [node("Div", ["x", "s"], ["d"]), node("Round", ["d"], ["r"]), node("Clip", ["r", "low", "high"], ["c"]), node("Cast", ["c"], ["q"], to=TensorProto.INT8)]
    if form == "integers":
        nodes += [node("MatMulInteger", ["q", "w"], ["p"]), node("Cast", ["p"], ["f"], to=TensorProto.FLOAT), node("Mul", ["f", "s"], ["f1"]), node("Mul", ["f1", "ws"], ["y0"])]
    elif form == "factors":
        nodes += [node("MatMulInteger", ["q", "w"], ["p"]), node("Cast", ["p"], ["f"], to=TensorProto.FLOAT), node("Mul", ["s", "ws"], ["both"]), node("Mul", ["f", "both"], ["y0"])]
    else:
        nodes += [node("DequantizeLinear", ["w", "ws"], ["wf"], axis=1)]
        nodes += ([node("DequantizeLinear", ["q", "s"], ["xf"], axis=-1, block_size=WIDTH)] if form == "blocked" else
                  [node("Cast", ["q"], ["qf"], to=TensorProto.FLOAT), node("Mul", ["qf", "s"], ["xf"])])
        nodes += [node("MatMul", ["xf", "wf"], ["y0"])]
    nodes += [node("Add", ["y0", "bias"], ["y"])]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "rows", [info("x", TensorProto.FLOAT, [2, ROWS, WIDTH])], [info("y", TensorProto.FLOAT, [2, ROWS, HIDDEN])],
                              [numpy_helper.from_array(np.ascontiguousarray(v), n) for n, v in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(made)
    onnx.save(made, path)
    return str(path)


@pytest.mark.parametrize("form", ["blocked", "factor", "division", "integers", "factors"])
def test_other_words_for_the_same(form, tokens, tmp_path):
    path = spelled_out(tmp_path / "model.onnx", form)
    assert steps_of(path) == ["quantize", "gemm"]
    assert distance(ours(path, tokens), theirs(path, tokens, optimized=False)) < 1e-3
