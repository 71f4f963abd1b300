"""Images that are resized and padded by sizes which the network computes, as detectors do it: convolutions stay kernels."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fusions"))
import plans

RANDOM = np.random.default_rng(3)


def constant(name, data):
    return numpy_helper.from_array(np.asarray(data), name)


def model(resize):
    """x resized to, or padded by, what its second input says; then a convolution."""
    if resize:
        change = [helper.make_node("Concat", ["known", "n"], ["sizes"], axis=0),
                  helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear")]
        known = constant("known", np.array([1, 3], np.int64))
    else:
        change = [helper.make_node("Concat", ["known", "n"], ["pads"], axis=0), helper.make_node("Pad", ["x", "pads"], ["y"])]
        known = constant("known", np.array([0, 0, 0, 0, 0, 0], np.int64))
    # Rounded numbers are data: nothing is known of them before they are there.
    nodes = [helper.make_node("Floor", ["f"], ["floor"]), helper.make_node("Cast", ["floor"], ["n"], to=TensorProto.INT64), *change,
             helper.make_node("Conv", ["y", "w"], ["z"], name="conv", pads=[1, 1, 1, 1])]
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    weights = RANDOM.standard_normal((5, 3, 3, 3)).astype(np.float32)
    graph = helper.make_graph(nodes, "g", [value("x", [1, 3, 8, 9]), value("f", [2])], [value("z", None)], [known, constant("w", weights)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check(resize, sizes):
    made = model(resize)
    plan = plans.Plan(made)
    slow = [l["Name"] for l in plan.layers if "conv" in l["Name"] and l["TacticName"].startswith("reference:")]
    assert not slow, slow
    for size in sizes:
        feed = {"x": RANDOM.standard_normal((1, 3, 8, 9)).astype(np.float32), "f": np.array(size, np.float32)}
        have, want = plan.infer(feed), plans.onnxruntime_outputs(made, feed)
        for name, expected in want.items():
            assert plans.difference(have[name], expected) <= 1e-5, (size, have[name].shape, expected.shape)


def test_resized_by_computed_sizes():
    check(True, [(8.5, 9.2), (16, 5), (11, 30)])


def test_padded_by_computed_pads():
    check(False, [(0.5, 3.2), (4, 0), (7, 1)])
