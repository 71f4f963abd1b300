"""ONNX models that the programs build, with what they compute in numpy."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper


def model(nodes, inputs, outputs, weights):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "example", [value(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [value(name, kind, shape) for name, (kind, shape) in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in weights.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return made.SerializeToString()


def random_weights(seed, **shapes):
    generator = np.random.default_rng(seed)
    return {name: generator.standard_normal(shape, np.float32) for name, shape in shapes.items()}


def mlp(seed=1, batch=4):
    """Two layers with a ReLU between them: the model, and the function."""
    weights = random_weights(seed, w1=(8, 16), b1=(16,), w2=(16, 3), b2=(3,))
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], "first"), helper.make_node("Relu", ["h"], ["r"], "relu"),
             helper.make_node("Gemm", ["r", "w2", "b2"], ["y"], "second")]
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    return (model(nodes, {"x": [batch, 8]}, {"y": (TensorProto.FLOAT, [batch, 3])}, weights),
            lambda x: np.maximum(x @ w["w1"] + w["b1"], 0) @ w["w2"] + w["b2"])


def nonzero():
    """The places of what is above 0."""
    nodes = [helper.make_node("Greater", ["x", "zero"], ["above"]), helper.make_node("NonZero", ["above"], ["y"])]
    weights = {"zero": np.zeros((), np.float32)}
    return model(nodes, {"x": [4, 6]}, {"y": (TensorProto.INT64, [2, "n"])}, weights)


def unknown():
    """Nodes that no parser knows."""
    nodes = [helper.make_node("NotAnOperator", ["x"], ["a"], "bad"), helper.make_node("NorThis", ["a"], ["y"], "worse")]
    return model(nodes, {"x": [2, 3]}, {"y": (TensorProto.FLOAT, [2, 3])}, {})
