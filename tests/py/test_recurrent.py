"""LSTM, GRU and RNN from ONNX: our kernels take them, whatever is constant or dynamic, and agree with ONNX Runtime."""
import json

import numpy as np

import wootz

import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


class Model:
    """Layers one after the other; the state's and the weights' tensors are inputs of the network where `computed`."""

    def __init__(self, layers, inputs, steps="steps", batch="batch", computed=False):
        self.rng = np.random.default_rng(5)
        self.nodes, self.weights, self.feeds = [], [], {}
        self.inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [steps, batch, inputs])]
        self.computed, x = computed, "x"
        for number, (kind, hidden, attributes) in enumerate(layers):
            x = self.layer(f"l{number}", kind, hidden, attributes, x, inputs)
            inputs = hidden * (2 if attributes.get("direction") == "bidirectional" else 1)
        outputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "g", self.inputs, outputs, self.weights)
        self.bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()

    def weight(self, name, *shape):
        value = self.rng.uniform(-0.3, 0.3, shape).astype(np.float32)
        if self.computed:
            self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
            self.feeds[name] = value
        else:
            self.weights.append(numpy_helper.from_array(value, name))
        return name

    def layer(self, name, kind, hidden, attributes, x, inputs):
        d, width = 2 if attributes.get("direction") == "bidirectional" else 1, GATES[kind] * hidden
        operands = [x, self.weight(name + "w", d, width, inputs), self.weight(name + "r", d, width, hidden), self.weight(name + "b", d, 2 * width)]
        self.nodes.append(helper.make_node(kind, operands, [name + "y"], name=name, hidden_size=hidden, **attributes))
        self.nodes.append(helper.make_node("Transpose", [name + "y"], [name + "t"], perm=[0, 2, 1, 3]))
        self.weights.append(numpy_helper.from_array(np.array([0, 0, -1], np.int64), name + "s"))
        self.nodes.append(helper.make_node("Reshape", [name + "t", name + "s"], [name + "out"]))
        return name + "out"


def kernels(engine):
    text = engine.create_engine_inspector().get_engine_information(wootz.LayerInformationFormat.JSON)
    return [layer["TacticName"] for layer in json.loads(text)["Layers"]]


def check(model, shapes, profile):
    logger = wootz.Logger(wootz.Logger.ERROR)
    builder = wootz.Builder(logger)
    network = builder.create_network(0)
    assert wootz.OnnxParser(network, logger).parse(model.bytes)
    config = builder.create_builder_config()
    config.profiling_verbosity = wootz.ProfilingVerbosity.DETAILED
    config.set_option("timing", "0")
    if profile:
        ranges = builder.create_optimization_profile()
        ranges.set_shape("x", *profile)
        config.add_optimization_profile(ranges)
    engine = wootz.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    context = engine.create_execution_context()
    session = onnxruntime.InferenceSession(model.bytes, providers=["CPUExecutionProvider"])
    for shape in shapes:
        feeds = {"x": model.rng.standard_normal(shape).astype(np.float32), **model.feeds}
        (got,), (wanted,) = wootz.infer(context, feeds).values(), session.run(None, feeds)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=2e-5 * max(1, np.abs(wanted).max()))
    return engine


STACK = [("LSTM", 48, {"direction": "bidirectional"}), ("LSTM", 48, {}), ("GRU", 48, {"direction": "reverse"}),
         ("GRU", 20, {"linear_before_reset": 1}), ("RNN", 17, {})]


def test_a_stack_of_layers_at_several_shapes():
    shapes = [(12, 2, 48), (1, 1, 48), (40, 7, 48), (12, 2, 48)]
    engine = check(Model(STACK, 48), shapes, ((1, 1, 48), (12, 2, 48), (40, 8, 48)))
    ours = kernels(engine)
    assert not [k for k in ours if k.startswith("reference:")], ours
    assert len([k for k in ours if ":rnn_float_" in k]) == len(STACK), ours


def test_weights_that_the_network_is_given():
    model = Model([("LSTM", 33, {"direction": "bidirectional"}), ("GRU", 18, {})], 7, 9, 3, computed=True)
    engine = check(model, [(9, 3, 7)], None)
    assert len([k for k in kernels(engine) if ":rnn_float_" in k]) == 2


def test_wide_layer_shared_by_threads():
    check(Model([("LSTM", 300, {}), ("GRU", 300, {"direction": "bidirectional"})], 64, 33, 1), [(33, 1, 64)], None)
