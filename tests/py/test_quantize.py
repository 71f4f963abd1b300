"""wootz.quantize(): models in other formats, against ONNX's checker and ONNX Runtime, and what they cost a network with real weights."""
import pathlib

import numpy as np
import onnx
import onnxruntime
import pytest
import wootz
from block_formats import BLOCKS, in_floats
from conftest import FIGURES
from digits_cnn import BATCH, SEED, int8_layers, int8_sums, right, trained  # noqa: F401
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

OPTIONS = {"backend": "cpu", "timing": "0"}
FORMATS = ["int8", "fp8", "int4", "nvfp4", "mxfp8", "fp16", "bf16"]


@pytest.fixture(autouse=True)
def seed():
    print(f"seed: WOOTZ_SEED={SEED}")


def save(path, nodes, inputs, outputs, constants, opset=17, external=False):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "quantize", [info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
                              [info(n, TensorProto.FLOAT, s) for n, s in outputs.items()],
                              [numpy_helper.from_array(np.ascontiguousarray(v), n) for n, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path, save_as_external_data=external, location="weights.bin", size_threshold=0)
    return str(path)


def network(path, **how):
    """Two residual convolutions, a transposed one, a mean, and two products, the last with its matrix transposed."""
    rng = np.random.default_rng(SEED)
    draw = lambda *shape: (rng.normal(0, 1, shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
    constants = {"f1": draw(16, 8, 3, 3), "b1": draw(16), "f2": draw(16, 16, 3, 3), "f3": draw(16, 8, 2, 2), "w1": draw(256, 128),
                 "w2": draw(10, 128), "b2": draw(10), "shape": np.array([0, -1], np.int64)}
    node = helper.make_node
    nodes = [node("Conv", ["x", "f1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1]), node("Relu", ["c1"], ["r1"], "relu1"),
             node("Conv", ["r1", "f2"], ["c2"], "conv2", pads=[1, 1, 1, 1]), node("Add", ["c2", "r1"], ["s"], "residual"),
             node("Relu", ["s"], ["r2"], "relu2"), node("ConvTranspose", ["r2", "f3"], ["c3"], "deconv", strides=[2, 2]),
             node("MaxPool", ["c3"], ["p"], "pool", kernel_shape=[4, 4], strides=[3, 3]), node("Reshape", ["p", "shape"], ["flat"], "flatten"),
             node("MatMul", ["flat", "w1"], ["h"], "product1"), node("Relu", ["h"], ["hr"], "relu3"),
             node("Gemm", ["hr", "w2", "b2"], ["y"], "product2", transB=1)]
    constants["w1"] = draw(8 * 5 * 5, 128)
    return save(path, nodes, {"x": [2, 8, 8, 8]}, {"y": [2, 10]}, constants, **how)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return network(tmp_path_factory.mktemp("quantize") / "model.onnx")


@pytest.fixture(scope="module")
def samples():
    return np.random.default_rng(SEED + 1).normal(0, 1, (8, 8, 8, 8)).astype(np.float32)


def ours(model, x, **options):
    context = wootz.Runtime(wootz.Logger(wootz.Logger.ERROR)).deserialize_cuda_engine(
        wootz.build(str(model), options={**OPTIONS, **options})).create_execution_context()
    return wootz.infer(context, {"x": x})["y"]


def theirs(model, x, optimized=True):
    options = onnxruntime.SessionOptions()
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def distance(a, b):
    return float(np.sqrt(np.square(a.astype(np.float64) - b).mean() / np.square(b.astype(np.float64)).mean()))


# A root mean square of what rounding to the format may cost this network's output.
LOSSES = {"int8": 0.05, "fp8": 0.15, "int4": 0.25, "nvfp4": 0.15, "mxfp8": 0.05, "fp16": 0.005, "bf16": 0.03}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_written_checked_and_computed(form, model, samples, tmp_path):
    out = tmp_path / f"{form}.onnx"
    report = wootz.quantize(model, out, data=samples, format=form, options=OPTIONS, **({"block": 20} if form == "int4" else {}))
    written = onnx.load(out)
    onnx.checker.check_model(written, full_check=form != "bf16")
    assert [i.type.tensor_type.elem_type for i in (*written.graph.input, *written.graph.output)] == [TensorProto.FLOAT] * 2
    layers = {layer["name"]: layer for layer in report["layers"]}
    assert list(layers) == ["conv1", "conv2", "deconv", "product1", "product2"]
    if form == "int4":
        assert [n for n, layer in layers.items() if layer["in_format"]] == ["product1"]
        assert "20 do not divide its sums of 128" in layers["product2"]["why_not"] and "products" in layers["conv1"]["why_not"]
    elif form in BLOCKS:
        assert [n for n, layer in layers.items() if layer["in_format"]] == ["product2"] and layers["product2"]["weight_error"] > 0
        assert f"{BLOCKS[form]} do not divide its sums of 200" in layers["product1"]["why_not"] and "products" in layers["conv1"]["why_not"]
    else:
        assert all(layer["in_format"] for layer in layers.values())
    x = samples[:2]
    exact = theirs(model, x)
    assert 0 < distance(ours(out, x), exact) <= LOSSES[form]
    assert 0 < report["error"] <= LOSSES[form]
    if form in BLOCKS:  # which ONNX Runtime does not read
        assert distance(ours(out, x), theirs(in_floats(out, tmp_path / "plain.onnx")[0], x)) <= 1e-4
    elif form != "bf16":  # which ONNX Runtime does not compute on the processor
        # Optimized, ONNX Runtime would pool in FP8, which it cannot, and its sums of 8-bit products saturate where the processor has
        # none.
        assert distance(ours(out, x), theirs(out, x, optimized=form not in ("fp8", "int8"))) <= (0.01 if form == "int8" else LOSSES[form] / 5)


def test_int8_fuses_to_8_bit_steps(model, samples, tmp_path):
    wootz.quantize(model, tmp_path / "int8.onnx", data=samples, bias_correction=False, options=OPTIONS)
    # Without instructions for sums of 8-bit products the transposed convolution stays in floats.
    assert int8_layers(tmp_path / "int8.onnx", tmp_path) == (5 if int8_sums() else 4)
    written = onnx.load(tmp_path / "int8.onnx")
    producers = {output: node for node in written.graph.node for output in node.output}
    residual = next(node for node in written.graph.node if node.name == "residual")
    assert [producers[i].op_type for i in residual.input] == ["Conv", "DequantizeLinear"]
    scales = {t.name: numpy_helper.to_array(t) for t in written.graph.initializer}
    shapes = {name: scales[f"{name}_scale"].shape for name in ("f1", "f2", "f3", "w1", "w2")}
    assert shapes == {"f1": (16,), "f2": (16,), "f3": (8,), "w1": (128,), "w2": (10,)}
    assert not {"f1", "f2", "f3", "w1", "w2"} & scales.keys() and "b1" in scales


@pytest.mark.parametrize("zero_points", [False, True])
def test_int4_is_what_its_blocks_say(zero_points, model, samples, tmp_path):
    out = tmp_path / "int4.onnx"
    report = wootz.quantize(model, out, format="int4", block=64, zero_points=zero_points, options=OPTIONS, seed=SEED)
    assert [layer["name"] for layer in report["layers"] if layer["in_format"]] == ["product2"] and report["seed"] == SEED
    written = onnx.load(out)
    onnx.checker.check_model(written, full_check=True)
    tensors = {t.name: numpy_helper.to_array(t) for t in written.graph.initializer}
    weights = next(numpy_helper.to_array(t) for t in onnx.load(model).graph.initializer if t.name == "w2")
    scale = np.repeat(tensors["w2_scale"], 64, axis=1)
    zero = np.repeat(tensors["w2_zero_point"].astype(np.float32), 64, axis=1) if zero_points else 0
    back = (tensors["w2_quantized"].astype(np.float32) - zero) * scale
    assert np.all(np.abs(back - weights) <= scale * (1 if zero_points else 0.501)) and distance(back, weights) < 0.12
    assert distance(ours(out, samples[:2]), theirs(out, samples[:2])) < 1e-4


@pytest.mark.parametrize("opset", [11, 12])
def test_older_operators_are_written_anew(opset, samples, tmp_path):
    rng = np.random.default_rng(SEED)
    node = helper.make_node
    nodes = [node("Conv", ["x", "f"], ["c"], "conv"), node("Clip", ["c", "low", "high"], ["k"], "clip"), node("ReduceSum", ["k"], ["r"], "sum", axes=[2], keepdims=1),
             node("Squeeze", ["r"], ["q"], "squeeze", axes=[2]), node("Split", ["q"], ["a", "b"], "split", axis=2, split=[3, 5]),
             node("Unsqueeze", ["a"], ["u"], "unsqueeze", axes=[1]), node("Softmax", ["u"], ["y"], "softmax", axis=-1)]
    model = save(tmp_path / "old.onnx", nodes, {"x": [2, 8, 8, 8]}, {"y": [2, 1, 4, 3]},
                 {"f": rng.normal(0, 0.1, (4, 8, 1, 1)).astype(np.float32), "low": np.float32(-1), "high": np.float32(6)}, opset=opset)
    wootz.quantize(model, tmp_path / "int8.onnx", data=samples, options=OPTIONS)
    written = onnx.load(tmp_path / "int8.onnx")
    onnx.checker.check_model(written, full_check=True)
    assert written.opset_import[0].version == 13
    assert distance(theirs(tmp_path / "int8.onnx", samples[:2]), theirs(model, samples[:2])) < 0.05
    draw = {"f": rng.normal(0, 0.1, (4, 8, 1, 1)).astype(np.float32), "low": np.float32(-1), "high": np.float32(6)}
    nodes[-1].attribute[0].i = 3
    model = save(tmp_path / "last.onnx", nodes, {"x": [2, 8, 8, 8]}, {"y": [2, 1, 4, 3]}, draw, opset=opset)
    wootz.quantize(model, tmp_path / "fp16.onnx", data=samples, format="fp16", options=OPTIONS)
    assert distance(theirs(tmp_path / "fp16.onnx", samples[:2]), theirs(model, samples[:2])) < 0.01
    nodes[-1].attribute[0].i = 1
    model = save(tmp_path / "other.onnx", nodes, {"x": [2, 8, 8, 8]}, {"y": [2, 1, 4, 3]}, draw, opset=opset)
    with pytest.raises(ValueError, match=r"node 'softmax' \(Softmax\) means something else from 13 on: convert the model first"):
        wootz.quantize(model, tmp_path / "no.onnx", data=samples, options=OPTIONS)
    assert not (tmp_path / "no.onnx").exists()


@pytest.mark.parametrize("form", ["int8", "fp16"])
def test_bodies_and_other_results_stay_in_float(form, samples, tmp_path):
    """A branch reads a value from outside; another one is an output as well as an operand."""
    rng = np.random.default_rng(SEED)
    node, info = helper.make_node, helper.make_tensor_value_info
    branch = lambda op: helper.make_graph([node(op, ["c"], ["t"])], op, [], [info("t", TensorProto.FLOAT, None)])
    nodes = [node("Conv", ["x", "f"], ["c"], "conv"), node("ReduceMax", ["c"], ["m"], "max", keepdims=0), node("Greater", ["m", "limit"], ["g"], "greater"),
             node("If", ["g"], ["i"], "if", then_branch=branch("Relu"), else_branch=branch("Neg")), node("Conv", ["i", "f2"], ["d"], "conv2"),
             node("Sigmoid", ["d"], ["y"], "sigmoid")]
    draw = lambda *shape: rng.normal(0, 0.3, shape).astype(np.float32)
    model = save(tmp_path / "if.onnx", nodes, {"x": [2, 8, 8, 8]}, {"y": [2, 4, 8, 8], "d": [2, 4, 8, 8]},
                 {"f": draw(8, 8, 1, 1), "f2": draw(4, 8, 1, 1), "limit": np.float32(0)})
    out = tmp_path / "out.onnx"
    wootz.quantize(model, out, data=samples, format=form, options=OPTIONS)
    onnx.checker.check_model(str(out), full_check=True)
    assert distance(ours(out, samples[:2]), theirs(model, samples[:2])) < 0.05
    assert distance(theirs(out, samples[:2]), theirs(model, samples[:2])) < 0.05


@pytest.mark.parametrize("form", ["fp16", "bf16"])
def test_variances_beyond_16_bits_are_kept(form, samples, tmp_path):
    rng = np.random.default_rng(SEED)
    constants = {"f": rng.normal(0, 300, (4, 8, 1, 1)).astype(np.float32), "s": np.ones(4, np.float32), "b": np.zeros(4, np.float32),
                 "m": np.zeros(4, np.float32), "v": np.float32([7e5, 8e5, 9e5, 1e6])}
    nodes = [helper.make_node("Conv", ["x", "f"], ["c"], "conv"), helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"], "norm")]
    model = save(tmp_path / "norm.onnx", nodes, {"x": [2, 8, 8, 8]}, {"y": [2, 4, 8, 8]}, constants, opset=12)
    out = tmp_path / "out.onnx"
    wootz.quantize(model, out, data=samples, format=form, options=OPTIONS)
    onnx.checker.check_model(onnx.load(out), full_check=form == "fp16")
    assert distance(ours(out, samples[:2]), theirs(model, samples[:2])) < (0.002 if form == "fp16" else 0.02)
    if form == "fp16":
        assert distance(theirs(out, samples[:2]), theirs(model, samples[:2])) < 0.002


def test_external_data_go_along(samples, tmp_path):
    (tmp_path / "from").mkdir()
    (tmp_path / "to").mkdir()
    model = network(tmp_path / "from" / "model.onnx", external=True)
    out = tmp_path / "to" / "out.onnx"
    wootz.quantize(model, out, data=samples, options=OPTIONS)
    (tmp_path / "from" / "weights.bin").rename(tmp_path / "from" / "gone")
    onnx.checker.check_model(str(out), full_check=True)
    assert sorted(p.name for p in (tmp_path / "to").iterdir()) == ["out.onnx", "out.onnx.data"]
    assert np.isfinite(ours(out, samples[:2])).all()
    np.testing.assert_allclose(ours(out, samples[:2]), theirs(out, samples[:2], optimized=False), rtol=0.05, atol=0.05)
    with pytest.raises((ValueError, wootz.BuildError), match="weights.bin"):
        wootz.quantize(model, tmp_path / "no.onnx", data=samples, options=OPTIONS)


def test_what_is_unfit_is_refused(model, samples, tmp_path):
    out = tmp_path / "out.onnx"
    refused = lambda text, **how: pytest.raises(ValueError, match=text)
    with refused("needs representative inputs"):
        wootz.quantize(model, out)
    with refused("'x' is float64, the network takes float32"):
        wootz.quantize(model, out, data=samples.astype(np.float64))
    with refused(r"'x' is \(8, 8, 8, 7\), the network takes"):
        wootz.quantize(model, out, data=samples[:, :, :, :7])
    with refused("there are no inputs"):
        wootz.quantize(model, out, data=[], options=OPTIONS)
    with refused("option 'block' is of int4"):
        wootz.quantize(model, out, data=samples, block=3, options=OPTIONS)
    with refused("option 'block' is of int4; blocks of nvfp4 have 16 elements"):
        wootz.quantize(model, out, format="nvfp4", block=16, options=OPTIONS)
    with refused("option 'block' is of int4; blocks of mxfp8 have 32 elements"):
        wootz.quantize(model, out, format="mxfp8", block=32, options=OPTIONS)
    with refused("option 'zero_points' is of int4 and int8"):
        wootz.quantize(model, out, format="mxfp8", zero_points=True, options=OPTIONS)
    with refused("there are int8, int8-dynamic, fp8, int4, nvfp4, mxfp8, fp16, bf16 and fp32"):
        wootz.quantize(model, out, format="mxfp4", options=OPTIONS)
    with refused("'algorithm': fp16 has no ranges"):
        wootz.quantize(model, out, data=samples, format="fp16", algorithm="minmax", options=OPTIONS)
    with refused("nothing is quantized: layer 'conv1'"):
        wootz.quantize(model, out, data=samples, format="int4", block=1000, options=OPTIONS)
    with refused("has infinities or NaN|not finite|tensor 'x'|no range is known"):
        wootz.quantize(model, out, data=np.full((2, 8, 8, 8), np.nan, np.float32), options=OPTIONS)
    assert not out.exists()
    with refused("cannot be written"):
        wootz.quantize(model, tmp_path / "no" / "folder.onnx", data=samples, options=OPTIONS)


def test_a_budget_keeps_the_costly_layers_in_float(samples, tmp_path):
    model = network(tmp_path / "model.onnx")
    # One layer that 8 bits do harm: a few of its weights are large in each channel.
    proto = onnx.load(model)
    for constant in proto.graph.initializer:
        if constant.name == "f2":
            weights = numpy_helper.to_array(constant).copy()
            weights[:, 0, 0, 0] *= 400
            constant.CopyFrom(numpy_helper.from_array(weights, "f2"))
    onnx.save(proto, model)
    plain = {"bias_correction": False, "options": OPTIONS}  # a budget is of what the correction finds, which comes after it
    whole = wootz.quantize(model, tmp_path / "whole.onnx", data=samples, sensitivity=True, **plain)
    costs = {layer["name"]: layer["sensitivity"] for layer in whole["layers"]}
    assert len(costs) == 5 and min(costs.values()) > 0
    budget = whole["error"] * 0.7
    report = wootz.quantize(model, tmp_path / "budget.onnx", data=samples, budget=budget, report=tmp_path / "r.html", **plain)
    kept = [layer["name"] for layer in report["layers"] if not layer["in_format"]]
    assert 0 < len(kept) < 5 and report["error"] <= budget
    assert {layer.get("why_not") for layer in report["layers"]} == {None, "kept in float by the budget"}
    assert max(costs, key=costs.get) in kept
    assert report["curve"][0] == {"layers_in_float": 0, "moves": 0, "error": pytest.approx(whole["error"], rel=1e-6)}
    assert [point["error"] for point in report["curve"] if point["layers_in_float"] == len(kept)] == [pytest.approx(report["error"], rel=1e-6)]
    corrected = wootz.quantize(model, tmp_path / "corrected.onnx", data=samples, budget=budget, options=OPTIONS)
    assert corrected["error_uncorrected"] == pytest.approx(report["error"], rel=1e-6) and corrected["error"] <= report["error"] * (1 + 1e-6)
    loose = wootz.quantize(model, tmp_path / "loose.onnx", data=samples, budget="100%", options=OPTIONS)
    assert loose["layers_in_format"] == 5
    with pytest.raises(ValueError, match="no layer can be in int8 within an error of 1e-09"):
        wootz.quantize(model, tmp_path / "no.onnx", data=samples, budget=1e-9, options=OPTIONS)


def test_best_takes_what_was_measured_to_be_faster(model, samples, tmp_path):
    try:
        report = wootz.quantize(model, tmp_path / "best.onnx", data=samples, best=True, options={"backend": "cpu"})
    except ValueError as error:
        assert "no layer is faster in int8" in str(error)
        return
    timed = [layer for layer in report["layers"] if "times_us" in layer]
    assert timed
    for layer in timed:
        assert layer["in_format"] == (layer["times_us"]["int8"] < layer["times_us"]["float"]), layer


def two_products(path):
    """As wide as to gain by narrow weights."""
    rng = np.random.default_rng(SEED)
    draw = lambda *shape: (rng.normal(0, 1, shape) / np.sqrt(shape[0])).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["h"], "product1"), helper.make_node("Relu", ["h"], ["r"], "relu"),
             helper.make_node("MatMul", ["r", "w2"], ["y"], "product2")]
    return save(path, nodes, {"x": [1, 2048]}, {"y": [1, 1024]}, {"w1": draw(2048, 2048), "w2": draw(2048, 1024)})


def test_best_of_several_formats(tmp_path):
    model, out = two_products(tmp_path / "model.onnx"), tmp_path / "best.onnx"
    samples = np.random.default_rng(SEED + 1).normal(0, 1, (4, 2048)).astype(np.float32)
    how = dict(data=samples, format="int8,int4", best=True, options={"backend": "cpu"})
    report = wootz.quantize(model, out, **how)
    onnx.checker.check_model(onnx.load(out), full_check=True)
    assert report["format"] == "int8,int4" and report["layers_in_format"] > 0
    for layer in report["layers"]:
        fastest = min(layer["times_us"], key=layer["times_us"].get)
        assert set(layer["times_us"]) == {"int8", "int4", "float"}
        assert layer["format"] == fastest if layer["in_format"] else fastest == "float", layer
    written = {tensor.name: tensor.data_type for tensor in onnx.load(out).graph.initializer}
    types = {"int8": TensorProto.INT8, "int4": TensorProto.INT4}
    for name, layer in zip(("w1", "w2"), report["layers"]):
        assert not layer["in_format"] or written[f"{name}_quantized"] == types[layer["format"]]
    # Four bits cost more than this: what was in them moves on, to eight bits where these are faster than float.
    moved = wootz.quantize(model, out, budget=0.03, **how)
    assert moved["error"] <= 0.03 and all(layer.get("format") != "int4" for layer in moved["layers"])
    assert moved["curve"] == sorted(moved["curve"], key=lambda point: point["moves"])
    for text, bad in (("'best' chooses", {"best": False}), ("for whole models", {"format": "int8,bf16"}), ("no format 'int9'", {"format": "int8,int9"})):
        with pytest.raises(ValueError, match=text):
            wootz.quantize(model, tmp_path / "no.onnx", **{**how, **bad})


class Reader(CalibrationDataReader):
    def __init__(self, samples):
        self.batches = iter([samples])

    def get_next(self):
        batch = next(self.batches, None)
        return None if batch is None else {"x": batch}


def right_in_runtime(path, images, labels):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    answers = [session.run(None, {"x": images[i:i + BATCH]})[0].argmax(1) for i in range(0, len(images), BATCH)]
    return np.concatenate(answers) == labels


@pytest.mark.parametrize("algorithm, method", [("least_error", CalibrationMethod.Entropy), ("entropy2", CalibrationMethod.Entropy), ("minmax", CalibrationMethod.MinMax)])
def test_a_trained_network_stays_as_good_as_by_onnx_runtime(algorithm, method, trained, tmp_path):
    bytes_, samples, (images, labels) = trained
    model = tmp_path / "model.onnx"
    pathlib.Path(model).write_bytes(bytes_)
    exact = right_in_runtime(model, images, labels).mean()
    wootz.quantize(model, tmp_path / "ours.onnx", data=samples, algorithm=algorithm, options=OPTIONS)
    plan = wootz.build(str(tmp_path / "ours.onnx"), options=OPTIONS)
    assert int8_layers(tmp_path / "ours.onnx", tmp_path) == 3
    got, in_runtime = right(plan, images, labels), right_in_runtime(tmp_path / "ours.onnx", images, labels)
    quantize_static(str(model), str(tmp_path / "theirs.onnx"), Reader(samples), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, calibrate_method=method)
    their = right_in_runtime(tmp_path / "theirs.onnx", images, labels)
    FIGURES.append(f"digits, {len(labels)} images, {algorithm}: {exact:.4f} in FP32; by wootz quantize {got.mean():.4f} here and "
                   f"{in_runtime.mean():.4f} in ONNX Runtime; by its own static quantization {their.mean():.4f}")
    assert got.mean() >= exact - 0.003 and in_runtime.mean() >= exact - 0.003
    # Images that one of the two alone recognizes fall either way: as good, but for four standard deviations of that.
    noise = 4 * np.sqrt((got != their).sum()) / len(labels)
    assert noise < 0.006 and got.mean() >= their.mean() - noise


def test_bytes_that_are_never_negative_are_unsigned(model, samples, tmp_path):
    """The same numbers, with inputs that go beyond what the calibration has seen: 127 steps bound u8 as they do i8."""
    made = str(tmp_path / "int8.onnx")
    wootz.quantize(model, made, data={"x": samples}, options=OPTIONS)
    wide = samples[:2] * 3
    np.testing.assert_array_equal(ours(made, wide), ours(made, wide, disable_passes="unsigned_bytes"))
    np.testing.assert_array_equal(ours(made, wide), ours(made, wide, isa="avx2"))
    expected = theirs(made, wide, optimized=False)
    np.testing.assert_allclose(ours(made, wide), expected, atol=0.05 * np.abs(expected).max())


def test_zero_points_and_corrected_biases_bring_results_closer(tmp_path):
    """Of a network of depthwise and plain convolutions with HardSwish, whose values are hardly ever negative."""
    rng, node, nodes, constants, value = np.random.default_rng(SEED), helper.make_node, [], {}, "x"
    for i, (channels, group) in enumerate(((16, 1), (16, 16), (24, 1), (24, 24), (10, 1))):
        depth = {0: 3, 2: 16, 4: 24}.get(i, 1)
        constants[f"w{i}"] = (rng.normal(0.2, 1, (channels, depth, 3, 3)) / np.sqrt(9 * depth)).astype(np.float32)
        nodes += [node("Conv", [value, f"w{i}"], [f"c{i}"], f"conv{i}", pads=[1] * 4, group=group), node("HardSwish", [f"c{i}"], [f"h{i}"], f"act{i}")]
        value = f"h{i}"
    constants["m"] = (rng.normal(0, 1, (10, 6)) / 3).astype(np.float32)
    nodes += [node("GlobalAveragePool", [value], ["g"], "mean"), node("Flatten", ["g"], ["f"], "flat"), node("MatMul", ["f", "m"], ["y"], "product")]
    model = save(tmp_path / "hard.onnx", nodes, {"x": [2, 3, 12, 12]}, {"y": [2, 6]}, constants)
    x = rng.normal(0.3, 1, (32, 3, 12, 12)).astype(np.float32)
    errors = {}
    for zero_points in (False, True):
        for corrected in (False, True):
            made = tmp_path / "int8.onnx"
            report = wootz.quantize(model, made, data=x, zero_points=zero_points, bias_correction=corrected, options=OPTIONS)
            onnx.checker.check_model(onnx.load(made))
            assert ("biases_corrected" in report) == corrected
            errors[zero_points, corrected] = report["error"]
            assert any("zero_point" in layer for layer in report["layers"]) == zero_points
            if corrected and report["biases_corrected"]:
                assert report["error"] < report["error_uncorrected"] and all("correction" in layer for layer in report["layers"])
            difference = distance(ours(made, x[:2]), theirs(made, x[:2], optimized=False))
            assert difference < 0.02, "written as it is computed"
    print(errors)
    assert errors[True, False] < errors[False, False] and errors[True, True] <= errors[True, False]
    with pytest.raises(ValueError, match="option 'bias_correction' is of int8"):
        wootz.quantize(model, tmp_path / "no.onnx", format="bf16", bias_correction=True, options=OPTIONS)
