"""Quantized ONNX models: what they become, what they compute, and what the report says of each Q and DQ."""
import json
import pathlib
import sys
from collections import Counter

import numpy as np
import onnx
import wootz
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fusions"))
import plans


def model_of(nodes, inputs, outputs, constants):
    graph = helper.make_graph(nodes, "quantized", inputs, outputs,
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def convolutions():
    rng = np.random.default_rng(5)
    constants = dict(xs=np.float32(0.02), xz=np.uint8(120), ys=np.float32(0.031), yz=np.uint8(9),
                     w=rng.integers(-127, 128, (8, 3, 3, 3)).astype(np.int8), ws=np.linspace(1e-3, 4e-3, 8, dtype=np.float32),
                     wz=np.zeros(8, np.int8), b=rng.integers(-900, 900, 8).astype(np.int32), bs=np.float32(1e-4),
                     bz=np.int32(0))
    node = helper.make_node
    nodes = [node("QuantizeLinear", ["x", "xs", "xz"], ["xq"], "q_in"),
             node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"], "dq_in"),
             node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], "dq_w", axis=0),
             node("DequantizeLinear", ["b", "bs", "bz"], ["bd"], "dq_b"),
             node("Conv", ["xd", "wd", "bd"], ["c"], "conv", pads=[1, 1, 1, 1]),
             node("Relu", ["c"], ["r"], "relu"),
             node("Transpose", ["r"], ["t"], "turn", perm=[0, 1, 3, 2]),
             node("QuantizeLinear", ["t", "ys", "yz"], ["yq"], "q_out"),
             node("DequantizeLinear", ["yq", "ys", "yz"], ["y"], "dq_out")]
    return model_of(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 9, 7])],
                    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 7, 9])], constants)


def dynamic_product():
    rng = np.random.default_rng(6)
    constants = dict(w=rng.integers(-127, 128, (32, 10)).astype(np.int8), wz=np.int8(0), ws=np.float32(0.01))
    node = helper.make_node
    nodes = [node("DynamicQuantizeLinear", ["x"], ["xq", "xs", "xz"], "dynamic"),
             node("MatMulInteger", ["xq", "w", "xz", "wz"], ["i"], "product"),
             node("Cast", ["i"], ["f"], "cast", to=TensorProto.FLOAT),
             node("Mul", ["xs", "ws"], ["s"], "scales"),
             node("Mul", ["f", "s"], ["y"], "scaled")]
    return model_of(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 32])],
                    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [5, 10])], constants)


def residual_sum():
    """A convolution whose result is rounded to steps of 0.5 and added to another tensor."""
    rng = np.random.default_rng(8)
    constants = dict(xs=np.float32(0.02), xz=np.int8(0), ys=np.float32(0.5), yz=np.int8(3),
                     w=rng.integers(-127, 128, (16, 16, 1, 1)).astype(np.int8), ws=np.float32(0.01), wz=np.int8(0))
    node = helper.make_node
    nodes = [node("QuantizeLinear", ["x", "xs", "xz"], ["xq"], "q_in"),
             node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"], "dq_in"),
             node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], "dq_w"),
             node("Conv", ["xd", "wd"], ["c"], "conv"),
             node("QuantizeLinear", ["c", "ys", "yz"], ["cq"], "q_sum"),
             node("DequantizeLinear", ["cq", "ys", "yz"], ["cd"], "dq_sum"),
             node("Add", ["cd", "r"], ["y"], "add")]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 16, 5, 5]) for name in ("x", "r", "y")]
    return model_of(nodes, values[:2], values[2:], constants)


def report_of(model):
    logger = wootz.Logger(wootz.Logger.ERROR)
    builder = wootz.Builder(logger)
    network = builder.create_network(0)
    assert wootz.OnnxParser(network, logger).parse(model.SerializeToString())
    config = builder.create_builder_config()
    config.set_option("timing", "0")
    assert builder.build_serialized_network(network, config) is not None
    return json.loads(builder.report_json())["notes"]


def test_result_is_within_a_step_of_onnxruntime():
    model = convolutions()
    feeds = plans.random_feeds(model)
    expected = plans.onnxruntime_outputs(model, feeds)["y"]
    actual = plans.Plan(model).infer(feeds)["y"]
    assert np.abs(actual - expected).max() <= 1.01 * 0.031
    assert (np.abs(actual - expected) > 1e-5).mean() < 0.01


def test_report_has_a_line_for_each():
    lines = {line["Node"]: line for line in report_of(convolutions())}
    assert set(lines) == {"q_in", "dq_in", "dq_w", "dq_b", "q_out", "dq_out"}
    assert Counter(line["Kind"] for line in lines.values()) == {"Quantize": 2, "Dequantize": 4}
    assert all(line["Reason"] for line in lines.values())
    for name in ("dq_in", "dq_w", "q_out"):
        assert lines[name]["Fate"] == "fused", lines[name]
    assert "turn" in lines["q_out"]["Reason"]
    assert lines["q_in"]["Fate"] == "kept" and "input of the network" in lines["q_in"]["Reason"]


def test_dynamic_quantization_multiplies_8_bits():
    model = dynamic_product()
    plan = plans.Plan(model)
    assert "gemm" in plan.steps and any("i8" in kernel for kernel in plan.kernels if ":gemm_" in kernel)
    feeds = plans.random_feeds(model)
    # ONNX's own evaluator: without instructions for sums of products of bytes, ONNX Runtime's sums saturate at 16 bits.
    expected = ReferenceEvaluator(model).run(["y"], feeds)[0]
    assert np.abs(plan.infer(feeds)["y"] - expected).max() <= 1e-4 * np.abs(expected).max()


def test_only_int8_lets_a_sum_go_without_its_rounding(tmp_path):
    model = residual_sum()
    feeds = {"x": np.random.default_rng(9).uniform(-2.5, 2.5, (1, 16, 5, 5)).astype(np.float32),
             "r": np.zeros((1, 16, 5, 5), np.float32)}
    step = 0.5
    built = {}
    for name, how in {"plain": {}, "int8": {"precision": "int8"},
                      "without": {"precision": "int8", "options": {"build_route": "without:relax_sums"}}}.items():
        report = tmp_path / f"{name}.json"
        options = {"backend": "cpu", "timing": "0", **how.get("options", {})}
        plan = wootz.build(model.SerializeToString(), options=options, precision=how.get("precision", ()), report=report)
        relaxed = [note["Node"] for note in json.loads(report.read_text())["notes"] if "relax_sums" in note.get("Reason", "")]
        assert relaxed == (["q_sum", "dq_sum"] if name == "int8" else []), name
        engine = wootz.Runtime(wootz.Logger(wootz.Logger.ERROR)).deserialize_cuda_engine(plan)
        y = wootz.infer(engine, feeds)["y"] / step
        built[name] = np.abs(y - np.round(y)).max()
    assert built["plain"] < 1e-4 and built["without"] < 1e-4 and built["int8"] > 0.3, built
