"""Plugins written in Python on an engine's device. Run by test_python_plugins.py in a process of its own, as device_cases.py is."""
import gc
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
import python_plugins as plugins
import wootz as trt
from onnx import TensorProto, helper
from python_plugins import Scale, Shift

BACKENDS = os.environ.get("WOOTZ_CASES", "cpu").split()
SEED = int(os.environ.get("WOOTZ_SEED", int.from_bytes(os.urandom(4), "little")))
SAMPLE = np.random.default_rng(SEED).standard_normal


@pytest.fixture(autouse=True)
def fresh():
    print("seed", SEED)
    plugins.register()
    Scale.fails, Scale.log, Shift.fails, plugins.ScaleCreator.fails = None, [], None, False
    yield
    Scale.fails = Shift.fails = None


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


class Network:
    """A network with one input [N, 3] of which a plugin is to be made something."""

    def __init__(self, backend, most=8, rank=2):
        self.logger = plugins.Reasons()
        self.builder = trt.Builder(self.logger)
        self.network = self.builder.create_network(0)
        self.config = self.builder.create_builder_config()
        self.backend = backend
        self.config.set_option("backend", backend)
        self.config.set_option("timing", "0")
        rest = (3,) * (rank - 1)
        self.x = self.network.add_input("x", trt.float32, (-1, *rest))
        profile = self.builder.create_optimization_profile()
        profile.set_shape("x", (1, *rest), (2, *rest), (most, *rest))
        self.config.add_optimization_profile(profile)
        self.before = self.network.add_activation(self.x, trt.ActivationType.RELU).get_output(0)

    def finish(self, tensor, name="y"):
        made = self.network.add_unary(tensor, trt.UnaryOperation.NEG).get_output(0)
        made.name = name
        self.network.mark_output(made)

    def plan(self):
        return self.builder.build_serialized_network(self.network, self.config)

    def engine(self):
        plan = self.plan()
        assert plan is not None, self.logger.errors
        return self.load(plan)

    def load(self, plan):
        runtime = trt.Runtime(self.logger)
        runtime.engine_host_code_allowed = True
        engine = runtime.deserialize_cuda_engine(plan)
        assert engine is not None and engine.on_device == (self.backend == "cuda"), self.logger.errors
        return engine


def check(engine, expected, rows=(2, 5, 2, 2)):
    """-expected(relu(x)) for inputs of so many rows."""
    context = engine.create_execution_context()
    for n in rows:
        x = SAMPLE((n, 3)).astype(np.float32)
        got = trt.infer(context, {"x": x})["y"]
        np.testing.assert_allclose(got, -expected(np.maximum(x, 0)), rtol=1e-6, atol=1e-6)


def scaled(backend, factor=3.0):
    net = Network(backend)
    layer = net.network.add_plugin_v3([net.before], [], Scale(factor))
    assert layer.type == trt.LayerType.PLUGIN_V3 and isinstance(layer.plugin, Scale) and layer.plugin.factor == factor
    net.finish(layer.get_output(0))
    return net


def test_v3_runs_between_layers(backend):
    net = scaled(backend)
    check(net.engine(), lambda x: 3 * x)
    called = {entry[0] for entry in Scale.log}
    assert called == {"get_capability_interface", "clone", "destroy", "configure_plugin", "get_output_data_types", "get_output_shapes",
                      "supports_format_combination", "get_workspace_size", "get_valid_tactics", "get_aliased_input", "set_tactic",
                      "on_shape_change", "attach_to_context", "get_fields_to_serialize", "enqueue", "create_plugin"}
    assert ("create_plugin", trt.TensorRTPhase.RUNTIME) in Scale.log
    assert ("get_workspace_size", (8, 3)) in Scale.log and ("configure_plugin", (-1, 3), (1, 3), (2, 3), (8, 3)) in Scale.log
    assert ("on_shape_change", (5, 3), (5, 3)) in Scale.log
    assert any(e == ("enqueue", 3, True) or e == ("enqueue", 5, True) for e in Scale.log)
    assert {e[1] for e in Scale.log if e[0] == "get_capability_interface"} == set(trt.PluginCapabilityType)


def test_v3_objects_live_as_long_as_who_has_them(backend):
    net = scaled(backend)
    exprs, builder = Scale.kept
    with pytest.raises(RuntimeError, match="is over"):
        builder.constant(1)
    with pytest.raises(RuntimeError, match="is over"):
        exprs[0].is_constant()
    engine = net.engine()
    context = engine.create_execution_context()
    trt.infer(context, {"x": np.ones((2, 3), np.float32)})
    attached = [e for e in gc.get_objects() if isinstance(e, Scale) and hasattr(e, "context")]
    assert len(attached) == 1
    resources = attached[0].context
    assert resources.error_recorder is None
    destroyed = sum(e[0] == "destroy" for e in Scale.log)
    del context
    gc.collect()
    assert sum(e[0] == "destroy" for e in Scale.log) == destroyed + 1
    with pytest.raises(RuntimeError, match="execution context is gone"):
        resources.error_recorder


def test_v3_in_a_plan_of_another_process(backend, tmp_path):
    plan = scaled(backend, 2.5).plan()
    (tmp_path / "plan").write_bytes(bytes(plan))
    code = ("import sys, numpy as np, wootz as trt\n"
            "def load():\n"
            "    logger = trt.Logger(trt.Logger.ERROR)\n"
            "    return trt.Runtime(logger).deserialize_cuda_engine(open(sys.argv[1], 'rb').read())\n"
            "assert load() is None\n"
            "import python_plugins; python_plugins.register()\n"
            "x = np.float32([[1, 2, -3]])\n"
            "np.testing.assert_array_equal(trt.infer(load().create_execution_context(), {'x': x})['y'], [[-2.5, -5, 0]])\n")
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "plan"], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])})
    assert done.returncode == 0 and "PyScale" in done.stderr, done.stderr


BUILDING = ["get_capability_interface", "clone", "configure_plugin", "get_output_data_types", "get_output_shapes",
            "supports_format_combination", "get_workspace_size", "get_valid_tactics", "get_aliased_input", "get_fields_to_serialize", "set_tactic"]


@pytest.mark.parametrize("method", BUILDING)
def test_v3_that_raises_while_building(backend, method):
    net = Network(backend)
    Scale.fails = method
    layer = net.network.add_plugin_v3([net.before], [], Scale(2))
    if layer is not None:
        net.finish(layer.get_output(0))
        assert net.plan() is None
    why = net.logger.take()
    assert f"{method} was told to fail" in why and "ZeroDivisionError" in why and "python_plugins.py" in why, why
    Scale.fails = None
    check(scaled(backend).engine(), lambda x: 3 * x, rows=(2,))


@pytest.mark.parametrize("method", ["attach_to_context", "on_shape_change", "enqueue", "destroy"])
def test_v3_that_raises_while_running(backend, method):
    net = scaled(backend)
    engine = net.engine()
    x = np.ones((2, 3), np.float32)
    Scale.fails = method
    if method == "attach_to_context":
        assert engine.create_execution_context() is None
    elif method == "destroy":
        del engine
        gc.collect()
    else:
        with pytest.raises(RuntimeError):
            trt.infer(engine.create_execution_context(), {"x": x})
    why = net.logger.take()
    assert f"{method} was told to fail" in why and "Traceback" in why, why
    Scale.fails = None
    if method != "destroy":
        check(engine, lambda x: 3 * x, rows=(2,))


def test_creator_that_raises(backend):
    net = scaled(backend)
    plan = net.plan()
    plugins.ScaleCreator.fails = True
    assert trt.Runtime(net.logger).deserialize_cuda_engine(plan) is None
    assert "the creator was told to fail" in net.logger.take()
    plugins.ScaleCreator.fails = False
    check(net.load(plan), lambda x: 3 * x, rows=(2,))


def test_creator_whose_fields_raise(backend, tmp_path):
    creator = plugins.register().get_creator("PyScale", "1")
    kept, creator.field_names = creator.field_names, 3
    try:
        net = Network(backend)
        parser = trt.OnnxParser(net.network, net.logger)
        assert not parser.parse_from_file(str(node_model(tmp_path / "m.onnx", "PyScale", factor=1.5)))
        why = net.logger.take()
        assert "ScaleCreator.field_names raised" in why and "wanted is a PluginFieldCollection" in why, why
    finally:
        creator.field_names = kept
    check(parsed(backend, node_model(tmp_path / "n.onnx", "PyScale", factor=1.5)).engine(), lambda x: 1.5 * x, rows=(2,))


ODDITIES = [("plugin_name", None, "without a name"), ("plugin_name", 3, "wanted is text"), ("num_outputs", "two", "wanted is a number"),
            ("num_outputs", 0, "answered 0"), ("get_capability_interface", lambda type: 3, "it gave int, which derives from none of"),
            ("get_output_data_types", lambda types: ["x"], "wanted is a list of DataType"), ("get_output_data_types", lambda types: [], "it gave 0 types"),
            ("get_output_shapes", lambda *_: [trt.DimsExprs(2)], "dimension 0 of a DimsExprs is not set"),
            ("get_output_shapes", lambda *_: [(2, 3)], "wanted is a DimsExprs"), ("clone", lambda: None, "clone gave no plugin"),
            ("clone", lambda: 3, "int is no IPluginV3")]


@pytest.mark.parametrize("name, value, words", ODDITIES)
def test_answers_of_another_form(backend, name, value, words):
    net, odd = Network(backend), Scale(2)
    setattr(odd, name, value)
    layer = net.network.add_plugin_v3([net.before], [], odd)
    if layer is not None:
        net.finish(layer.get_output(0))
        assert net.plan() is None
    assert words in net.logger.errors, net.logger.errors


def node_model(path, op, **attributes):
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node(op, ["r"], ["s"], **attributes), helper.make_node("Neg", ["s"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, ["N", 3])], [helper.make_empty_tensor_value_info("y")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def parsed(backend, path, flags=0):
    net = Network.__new__(Network)
    net.logger, net.backend = plugins.Reasons(), backend
    net.builder = trt.Builder(net.logger)
    net.network, net.config = net.builder.create_network(flags), net.builder.create_builder_config()
    assert trt.OnnxParser(net.network, net.logger).parse_from_file(str(path)), net.logger.errors
    net.config.set_option("backend", backend)
    net.config.set_option("timing", "0")
    profile = net.builder.create_optimization_profile()
    profile.set_shape("x", (1, 3), (2, 3), (8, 3))
    net.config.add_optimization_profile(profile)
    return net


@pytest.mark.parametrize("op, attributes, expected", [("PyScale", {"factor": 1.5}, lambda x: 1.5 * x),
                                                      ("PyShift", {"by": 2.0}, lambda x: np.concatenate([x, x + 2]))])
def test_nodes_of_a_model_become_plugins(backend, tmp_path, op, attributes, expected):
    check(parsed(backend, node_model(tmp_path / "m.onnx", op, **attributes)).engine(), expected)


def shifted(backend, by=2.0):
    net = Network(backend)
    layer = net.network.add_plugin_v2([net.before], Shift(by))
    if layer is not None:
        assert layer.type == trt.LayerType.PLUGIN_V2 and isinstance(layer.plugin, Shift) and layer.plugin.by == by
        net.finish(layer.get_output(0))
    return net, layer


def test_v2_runs_between_layers(backend):
    net, _ = shifted(backend)
    check(net.engine(), lambda x: np.concatenate([x, x + 2]))


@pytest.mark.parametrize("method", ["clone", "get_output_datatype", "get_output_dimensions", "supports_format_combination", "configure_plugin",
                                    "get_workspace_size", "serialize", "initialize"])
def test_v2_that_raises_while_building(backend, method):
    Shift.fails = method
    net, layer = shifted(backend)
    assert layer is None or net.plan() is None
    why = net.logger.take()
    assert f"{method} was told to fail" in why and "Traceback" in why, why
    Shift.fails = None
    check(shifted(backend)[0].engine(), lambda x: np.concatenate([x, x + 2]), rows=(2,))


@pytest.mark.parametrize("method", ["enqueue", "terminate", "destroy"])
def test_v2_that_raises_while_running(backend, method):
    net, _ = shifted(backend)
    engine = net.engine()
    Shift.fails = method
    if method == "enqueue":
        with pytest.raises(RuntimeError):
            trt.infer(engine.create_execution_context(), {"x": np.ones((2, 3), np.float32)})
    del engine
    gc.collect()
    assert f"{method} was told to fail" in net.logger.take()
