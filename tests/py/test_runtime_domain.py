"""Ops of ONNX Runtime's own domain (`com.microsoft`), a row each, against ONNX Runtime."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import wootz

DOMAIN = "com.microsoft"

# Op, shapes of its inputs (None: omitted; the first is an input of the network, the others are constants), attributes.
ROWS = [
    ("BiasGelu", [(2, 5, 24), (24,)], {}),
    ("FastGelu", [(2, 5, 24)], {}),
    ("FastGelu", [(2, 5, 24), (24,)], {}),
    ("Gelu", [(2, 5, 24)], {}),
    ("QuickGelu", [(2, 5, 24)], {}),
    ("QuickGelu", [(7, 33)], {"alpha": 0.5}),
]


def model_of(op, shapes, attributes):
    random = np.random.default_rng(4)
    names = ["" if shape is None else "x" if i == 0 else f"c{i}" for i, shape in enumerate(shapes)]
    constants = [numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
                 for name, shape in zip(names[1:], shapes[1:]) if name]
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph([helper.make_node(op, names, ["y"], domain=DOMAIN, **attributes)], "row",
                              [value("x", shapes[0])], [value("y", None)], constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


@pytest.mark.parametrize("op, shapes, attributes", ROWS, ids=[f"{row[0]}-{i}" for i, row in enumerate(ROWS)])
def test_agrees_with_onnxruntime(op, shapes, attributes):
    model = model_of(op, shapes, attributes)
    feeds = {"x": np.random.default_rng(7).standard_normal(shapes[0]).astype(np.float32)}
    expected = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, feeds)[0]
    engine = wootz.Runtime(wootz.Logger()).deserialize_cuda_engine(wootz.build(model))
    got = wootz.infer(engine.create_execution_context(), feeds)["y"]
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-5)


def test_inputs_are_counted():
    with pytest.raises(wootz.BuildError, match="has at most 1"):
        wootz.build(model_of("QuickGelu", [(2, 3), (3,)], {}))
