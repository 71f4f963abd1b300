"""Ops that ONNX Runtime has beyond ONNX (most in its own domain, `com.microsoft`), against ONNX Runtime, a row each."""
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import wootz

DOMAIN = "com.microsoft"

# Op, shapes of its inputs (None: omitted; the first is an input of the network, the others are constants), attributes,
# and the outputs that are wanted. A dot in front: an op of ONNX's domain.
ROWS = [
    ("BiasGelu", [(2, 5, 24), (24,)], {}, "y"),
    ("FastGelu", [(2, 5, 24)], {}, "y"),
    ("FastGelu", [(2, 5, 24), (24,)], {}, "y"),
    ("FusedMatMul", [(2, 5, 24), (24, 7)], {"alpha": 0.25}, "y"),
    ("FusedMatMul", [(2, 24, 5), (2, 7, 24)], {"transA": 1, "transB": 1}, "y"),
    ("FusedMatMul", [(5, 2, 3, 24), (2, 3, 24, 7)], {"transBatchA": 1}, "y"),
    ("FusedMatMul", [(24, 2, 3, 5), (7, 2, 3, 24)], {"transA": 1, "transBatchA": 1, "transB": 1, "transBatchB": 1}, "y"),
    ("FusedMatMul", [(24,), (7, 24)], {"transA": 1, "transB": 1}, "y"),
    ("Gelu", [(2, 5, 24)], {}, "y"),
    ("QuickGelu", [(2, 5, 24)], {}, "y"),
    ("QuickGelu", [(7, 33)], {"alpha": 0.5}, "y"),
    (".SimplifiedLayerNormalization", [(2, 5, 24), (24,)], {"axis": -1, "epsilon": 1e-6}, "y"),
    ("SkipLayerNormalization", [(2, 5, 24), (2, 5, 24), (24,), (24,), (24,)], {"epsilon": 1e-5}, "y   s"),
    ("SkipLayerNormalization", [(2, 5, 24), (1, 5, 24), (24,), None, (24,)], {}, "y"),
    ("SkipSimplifiedLayerNormalization", [(2, 5, 24), (2, 5, 24), (24,)], {"epsilon": 1e-6}, "y   s"),
    ("SkipSimplifiedLayerNormalization", [(2, 5, 24), (2, 5, 24), (24,), (24,)], {}, "y"),
    ("TransposeMatMul", [(24, 5), (7, 24)], {"transA": 1, "transB": 1}, "y"),
]


def model_of(op, shapes, attributes, outputs="y"):
    random = np.random.default_rng(4)
    names = ["" if shape is None else "x" if i == 0 else f"c{i}" for i, shape in enumerate(shapes)]
    constants = [numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
                 for name, shape in zip(names[1:], shapes[1:]) if name]
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    domain = "" if op.startswith(".") else DOMAIN
    outputs = outputs.split(" ")
    graph = helper.make_graph([helper.make_node(op.strip("."), names, outputs, domain=domain, **attributes)], "row",
                              [value("x", shapes[0])], [value(name, None) for name in outputs if name], constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


@pytest.mark.parametrize("op, shapes, attributes, outputs", ROWS, ids=[f"{row[0].strip('.')}-{i}" for i, row in enumerate(ROWS)])
def test_agrees_with_onnxruntime(op, shapes, attributes, outputs):
    model = model_of(op, shapes, attributes, outputs)
    feeds = {"x": np.random.default_rng(7).standard_normal(shapes[0]).astype(np.float32)}
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    engine = wootz.Runtime(wootz.Logger()).deserialize_cuda_engine(wootz.build(model))
    got = wootz.infer(engine.create_execution_context(), feeds)
    for output, expected in zip(session.get_outputs(), session.run(None, feeds)):
        np.testing.assert_allclose(got[output.name], expected, rtol=2e-5, atol=2e-5)


def test_inputs_are_counted():
    with pytest.raises(wootz.BuildError, match="has at most 1"):
        wootz.build(model_of("QuickGelu", [(2, 3), (3,)], {}))


def test_batch_in_front_needs_a_batch():
    with pytest.raises(wootz.BuildError, match=r"in front of its batch; \[5,24\] has none"):
        wootz.build(model_of("FusedMatMul", [(5, 24), (24, 7)], {"transBatchA": 1}))
