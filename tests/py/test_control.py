"""If, Loop and Scan whose bodies stay bodies: their steps are kernels, and results are those of ONNX Runtime."""
import pathlib
import sys

import numpy as np

import onnx
import wootz  # noqa: F401
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fusions"))
import plans
from onnx import TensorProto, helper, numpy_helper

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
RANDOM = np.random.default_rng(11)


def value(name, dtype=F, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op, inputs, outputs, **attributes):
    """Two spaces: an input that is left out."""
    return helper.make_node(op, inputs.split(" "), outputs.split(), name=f"{op}_{outputs.split()[0]}", **attributes)


def constant(name, data):
    return numpy_helper.from_array(np.asarray(data), name)


def graph(name, nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, name, inputs, outputs, list(constants))


def model(nodes, inputs, outputs, constants=()):
    made = helper.make_model(graph("g", nodes, inputs, outputs, constants),
                             opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    return made


def body_layers(layers):
    for layer in layers:
        for body in layer.get("Bodies", []):
            yield from body
            yield from body_layers(body)


def check(made, feeds, least, tolerance=1e-4):
    """Several inputs through one context; `least`: so many steps the bodies have at least, none the reference's."""
    plan = plans.Plan(made)
    inside = list(body_layers(plan.layers))
    assert len(inside) >= least, [layer["Name"] for layer in plan.layers]
    slow = [layer["Name"] for layer in plan.layers + inside if layer["TacticName"].startswith("reference:")]
    assert not slow, slow
    for feed in feeds:
        have, want = plan.infer(feed), plans.onnxruntime_outputs(made, feed)
        for name, expected in want.items():
            assert plans.difference(have[name], expected) <= tolerance, (name, have[name].shape, expected.shape)
    return plan


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def test_a_state_that_grows():
    body = graph("b", [node("Identity", "go", "goes"), node("ReduceMean", "past", "mean", axes=[0], keepdims=1),
                       node("MatMul", "mean w", "next"), node("Concat", "past next", "now", axis=0),
                       node("Squeeze", "next zero", "element")],
                 [value("i", I, []), value("go", B, []), value("past", F, [None, 4])],
                 [value("goes", B, []), value("now", F, [None, 4]), value("element", F, [4])],
                 [constant("zero", np.array([0], np.int64))])
    made = model([node("Loop", "n  x", "y all", body=body)], [value("n", I, []), value("x", F, [2, 4])],
                 [value("y", F, [None, 4]), value("all", F, [None, 4])], [constant("w", floats(4, 4))])
    feeds = [{"n": np.array(n, np.int64), "x": floats(2, 4)} for n in (5, 3, 9, 1, 0, 5)]
    check(made, feeds, 3)


def test_a_condition_that_ends_it():
    body = graph("b", [node("MatMul", "w a", "v"), node("Tanh", "v", "t"), node("ReduceSum", "t", "sum", keepdims=0),
                       node("Greater", "sum least", "goes"), node("Add", "t a", "b"), node("Identity", "t", "e")],
                 [value("i", I, []), value("go", B, []), value("a", F, [6])],
                 [value("goes", B, []), value("b", F, [6]), value("e", F, [6])], [constant("least", np.float32(-0.5))])
    made = model([node("Loop", "n go0 x", "y all", body=body), node("Neg", "y", "z")],
                 [value("n", I, []), value("x", F, [6])], [value("z", F, [6]), value("all", F, [None, 6])],
                 [constant("w", floats(6, 6)), constant("go0", np.array(True))])
    check(made, [{"n": np.array(30, np.int64), "x": floats(6)} for _ in range(6)], 2)


def test_a_long_scan():
    body = graph("b", [node("MatMul", "h r", "hr"), node("MatMul", "x w", "xw"), node("Add", "hr xw", "s"),
                       node("Tanh", "s", "t"), node("Identity", "t", "y")],
                 [value("h", F, [2, 8]), value("x", F, [2, 5])], [value("t", F, [2, 8]), value("y", F, [2, 8])])
    made = model([node("Scan", "h0 xs", "h ys", body=body, num_scan_inputs=1, scan_input_directions=[1],
                       scan_output_directions=[1])],
                 [value("h0", F, [2, 8]), value("xs", F, [400, 2, 5])],
                 [value("h", F, [2, 8]), value("ys", F, [400, 2, 8])],
                 [constant("r", 0.3 * floats(8, 8)), constant("w", floats(5, 8))])
    check(made, [{"h0": floats(2, 8), "xs": floats(400, 2, 5)} for _ in range(3)], 2)


def nms_model():
    """As detectors have it: boxes that pass, if there are any."""
    empty = graph("none", [], [], [value("no", I, [0])], [constant("no", np.zeros(0, np.int64))])
    some = graph("some", [node("Unsqueeze", "boxes c0", "b3"), node("Unsqueeze", "passed c01", "s3"),
                          node("NonMaxSuppression", "b3 s3 most iou", "found"), node("Gather", "found c2", "kept", axis=1)],
                 [], [value("kept", I, [None])],
                 [constant("c0", np.array([0], np.int64)), constant("c01", np.array([0, 1], np.int64)),
                  constant("most", np.array([50], np.int64)), constant("iou", np.array([0.4], np.float32)),
                  constant("c2", np.array(2, np.int64))])
    return model([node("Greater", "s least", "over"), node("NonZero", "over", "which"), node("Squeeze", "which c0", "at"),
                  node("Gather", "x at", "boxes", axis=0), node("Gather", "s at", "passed", axis=0),
                  node("Size", "at", "count"), node("Equal", "count none", "empty"),
                  node("If", "empty", "kept", then_branch=empty, else_branch=some),
                  node("Gather", "boxes kept", "y", axis=0)],
                 [value("x", F, [80, 4]), value("s", F, [80])], [value("y", F, [None, 4])],
                 [constant("least", np.float32(0.1)), constant("c0", np.array([0], np.int64)),
                  constant("none", np.array(0, np.int64))])


def test_boxes_if_there_are_any():
    corners = RANDOM.random((80, 2)).astype(np.float32)
    boxes = np.concatenate([corners, corners + 0.2], 1)
    check(nms_model(), [{"x": boxes, "s": s} for s in (floats(80), floats(80), np.zeros(80, np.float32), floats(80))], 2, 0)


def test_branches_within_a_loop():
    then = graph("then", [node("MatMul", "a w", "p"), node("Tanh", "p", "r")], [], [value("r", F, [1, 4])])
    other = graph("other", [node("Gather", "a turn", "q", axis=1), node("Mul", "q half", "t")], [], [value("t", F, [1, 4])],
                  [constant("turn", np.array([3, 2, 1, 0], np.int64)), constant("half", np.float32(0.5))])
    body = graph("b", [node("Identity", "go", "goes"), node("ReduceSum", "a", "sum", keepdims=0),
                       node("Greater", "sum nought", "up"), node("If", "up", "c", then_branch=then, else_branch=other),
                       node("Add", "c bias", "b")],
                 [value("i", I, []), value("go", B, []), value("a", F, [1, 4])],
                 [value("goes", B, []), value("b", F, [1, 4])], [constant("nought", np.float32(0))])
    made = model([node("Loop", "n  x", "y", body=body)],
                 [value("n", I, []), value("x", F, [1, 4]), value("bias", F, [1, 4])], [value("y", F, [1, 4])],
                 [constant("w", floats(4, 4))])
    check(made, [{"n": np.array(n, np.int64), "x": floats(1, 4), "bias": floats(1, 4)} for n in (1, 7, 20, 0, 4)], 3)
