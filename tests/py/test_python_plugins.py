"""Plugins written in Python. What runs them is in plugin_cases.py and decorated_cases.py, in processes of their own, as test_device.py has it."""
import gc
import importlib
import os
import pathlib
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
import python_plugins as plugins
import wootz as trt
from conftest import FIGURES
from wootz import _levels

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", HERE.parents[1] / "build" / "release")).resolve()
EMULATOR = BUILD / "emulator"
CASES = sorted(HERE.glob("*plugin_cases.py"))


def run(backends, **environment):
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", *CASES],
                          env={**os.environ, "WOOTZ_CASES": backends, **environment}, capture_output=True, text=True, timeout=900)
    print(done.stdout[-20000:], done.stderr[-5000:])
    assert done.returncode == 0, f"plugin_cases.py: status {done.returncode}\n{done.stdout[-8000:]}\n{done.stderr[-2000:]}"
    return done.stdout.strip().splitlines()[-1]


def test_on_the_processor():
    run("cpu")


def test_on_the_emulator():
    if not EMULATOR.is_dir():
        pytest.skip("this build has no cuda backend")
    run("cuda", LD_LIBRARY_PATH=str(EMULATOR), WOOTZ_CUDA_CACHE="")


def test_on_a_gpu():
    from test_device import gpus
    if gpus() == 0:
        FIGURES.append("NOT RUN ON A GPU: plugins written in Python (tests/py/test_python_plugins.py): no NVIDIA GPU here")
        pytest.skip("NO NVIDIA GPU ON THIS MACHINE")
    FIGURES.append(f"plugins in Python on a GPU: {run('cuda')}")


def test_the_page_runs(tmp_path):
    page = (HERE.parents[1] / "docs" / "python-plugins.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) >= 3
    for block in blocks:
        done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, timeout=120, cwd=tmp_path)
        assert done.returncode == 0, block + done.stderr


def test_registry_keeps_creators():
    registry = plugins.register()
    found = registry.get_creator("PyScale", "1", "")
    assert isinstance(found, plugins.ScaleCreator) and isinstance(found, trt.IPluginCreatorInterface)
    assert found in registry.all_creators and found in registry.all_creators_recursive
    assert repr(found) == "<ScaleCreator 'PyScale'>"
    another = plugins.ScaleCreator()
    assert not registry.register_creator(another, "")
    assert registry.register_creator(another, "of_another_kind")
    assert registry.get_creator("PyScale", "1", "of_another_kind") is another
    assert registry.deregister_creator(another) and not registry.deregister_creator(another)
    assert registry.get_creator("PyScale", "1", "of_another_kind") is None
    assert registry.get_plugin_creator("PyShift", "1") in registry.plugin_creator_list
    assert registry.get_plugin_creator("PyScale", "1") is None
    with pytest.raises(TypeError, match="derives from none of"):
        registry.register_creator(object())
    with pytest.raises(AttributeError, match="sets no name"):
        registry.register_creator(trt.IPluginCreatorV3One())
    assert found.api_language == trt.APILanguage.PYTHON
    info = found.interface_info
    assert (info.kind, info.major, info.minor) == ("PLUGIN CREATOR_V3ONE", 1, 0)
    registry.parent_search_enabled = True
    assert registry.parent_search_enabled
    assert trt.get_builder_plugin_registry(trt.EngineCapability.STANDARD) is not None


class Counter(trt.IPluginResource):
    """A resource that counts what is asked of it."""

    log = []

    def __init__(self, of=None, fails=False):
        self.of, self.fails = of, fails

    def clone(self):
        if self.fails:
            raise ZeroDivisionError("no clone")
        Counter.log.append("clone")
        return Counter(of=self)

    def release(self):
        Counter.log.append("release")
        assert self.of.fails is False, "told to fail"


def test_resources_are_shared():
    registry = trt.get_plugin_registry()
    given, Counter.log = Counter(), []
    first, second = registry.acquire_plugin_resource("counter", given), registry.acquire_plugin_resource("counter", None)
    assert first is second and first.of is given
    assert registry.release_plugin_resource("counter") == 0 and Counter.log == ["clone"]
    assert registry.release_plugin_resource("counter") == 0 and Counter.log == ["clone", "release"]
    assert registry.release_plugin_resource("counter") != 0
    assert registry.acquire_plugin_resource("counter", None) is None
    assert registry.acquire_plugin_resource("counter", Counter(fails=True)) is None
    assert registry.acquire_plugin_resource("counter", given) is not None
    given.fails = True
    assert registry.release_plugin_resource("counter") != 0 and registry.acquire_plugin_resource("counter", None) is None


def test_fields_hold_numbers_and_bytes():
    for kind, dtype in (("FLOAT16", np.float16), ("FLOAT32", np.float32), ("FLOAT64", np.float64), ("INT8", np.int8), ("INT16", np.int16),
                        ("INT32", np.int32), ("INT64", np.int64)):
        field = trt.PluginField("f", np.array([1, 2, 3], dtype), trt.PluginFieldType[kind])
        assert field.size == 3 and field.data.dtype == dtype
        np.testing.assert_array_equal(field.data, [1, 2, 3])
    text = trt.PluginField("t", "four", trt.PluginFieldType.CHAR)
    assert text.data == b"four" and text.data.tobytes().decode() == "four" and text.size == 4
    assert trt.PluginField("d", (3, 4), trt.PluginFieldType.DIMS).data == (3, 4)
    empty = trt.PluginField("e", np.array([]), trt.PluginFieldType.INT32)
    assert empty.size == 0 and empty.data.size == 0
    text.size = 100
    with pytest.raises(ValueError, match="not of its type and size"):
        text.data
    half = trt.PluginField()
    half.name, half.type, half.data = "h", trt.PluginFieldType.INT4, np.uint8([0x21])
    assert half.name == "h" and half.size == 2 and half.data == b"\x21"
    fields = trt.PluginFieldCollection([empty])
    fields.append(text)
    fields.insert(0, half)
    assert len(fields) == 3 and fields[0] is half and fields.pop() is text and isinstance(fields, list)
    assert len(trt.PluginFieldCollection_(fields)) == 2


def test_descriptions_are_written_and_read():
    desc = trt.PluginTensorDesc()
    desc.dims, desc.type, desc.format, desc.scale = (2, 3), trt.float16, trt.TensorFormat.HWC, 0.5
    assert (tuple(desc.dims), desc.type, desc.format, desc.scale) == ((2, 3), trt.float16, trt.TensorFormat.HWC, 0.5)
    dynamic = trt.DynamicPluginTensorDesc()
    dynamic.desc, dynamic.min, dynamic.opt, dynamic.max = desc, (1, 3), (2, 3), (4, 3)
    assert tuple(dynamic.desc.dims) == (2, 3) and (tuple(dynamic.min), tuple(dynamic.opt), tuple(dynamic.max)) == ((1, 3), (2, 3), (4, 3))
    exprs = trt.DimsExprs(2)
    assert len(exprs) == 2 and exprs[0] is None
    with pytest.raises(ValueError, match="at most 8"):
        trt.DimsExprs(9)
    with pytest.raises(IndexError):
        exprs[2]
    with pytest.raises(RuntimeError, match="is over"):
        trt.IExprBuilder().constant(1)


def test_a_plugin_of_a_library_is_one_too():
    assert trt.init_libnvinfer_plugins(trt.Logger(trt.Logger.ERROR), "")
    creator = trt.get_plugin_registry().get_creator("ScatterElements", "2")
    assert isinstance(creator, trt.IPluginCreatorV3One) and {f.name for f in creator.field_names} == {"axis", "reduction"}
    plugin = creator.create_plugin("s", [trt.PluginField("reduction", "add", trt.PluginFieldType.CHAR)], trt.TensorRTPhase.BUILD)
    assert isinstance(plugin, trt.IPluginV3) and isinstance(plugin.clone(), trt.IPluginV3)
    core = plugin.get_capability_interface(trt.PluginCapabilityType.CORE)
    assert (core.plugin_name, core.plugin_version, core.plugin_namespace) == ("ScatterElements", "2", "")
    with pytest.raises(RuntimeError, match="cannot be called from Python"):
        plugin.get_capability_interface(trt.PluginCapabilityType.RUNTIME)
    with pytest.raises(TypeError, match="registered by its library"):
        trt.get_plugin_registry().register_creator(creator, "elsewhere")


def test_a_plugin_of_v2_of_a_library_is_asked_as_in_cpp():
    assert trt.init_libnvinfer_plugins(trt.Logger(trt.Logger.ERROR), "")
    creator = trt.get_plugin_registry().get_creator("GroupNormalizationPlugin", "1")
    assert isinstance(creator, trt.IPluginCreator) and repr(creator) == "<LibraryPluginCreator 'GroupNormalizationPlugin'>"
    plugin = creator.create_plugin("g", [trt.PluginField("num_groups", np.int32([2]), trt.PluginFieldType.INT32)])
    assert isinstance(plugin, trt.IPluginV2Ext) and plugin.initialize() == 0 and plugin.get_workspace_size(1) == 0
    assert plugin.tensorrt_version >> 24 == 3 and plugin.serialization_size == len(plugin.serialize()) > 0
    assert plugin.get_output_data_type(0, [trt.float16, trt.float32, trt.float32]) == trt.float16
    assert not plugin.supports_format(trt.float32, trt.TensorFormat.LINEAR)  # of the oldest interface, which it has not
    assert str(plugin.get_output_shape(0, [(3, 4)])) == "(rank not known)"
    plugin.configure_with_format([(3,)], [(3,)], trt.float32, trt.TensorFormat.LINEAR, 1)
    assert plugin.execute_async(1, [0], [0], 0, 0) != 0  # stock plugins are layers
    plugin.plugin_namespace = "elsewhere"
    assert plugin.plugin_namespace == "elsewhere" and plugin.clone().plugin_namespace == "elsewhere"
    plugin.detach_from_context()
    plugin.terminate()
    mine = plugins.Shift(2.0)
    assert mine.tensorrt_version >> 24 == 67 and mine.get_serialization_size() == mine.serialization_size == 4
    with pytest.raises(NotImplementedError, match="Shift has no execute_async"):
        mine.execute_async(1, [], [], 0, 0)


def test_objects_of_interfaces_are_copied_by_their_constructor():
    for name in ("IPluginV3", "IPluginV3OneCore", "IPluginV3OneBuild", "IPluginV3OneBuildV2", "IPluginV3OneRuntime", "IPluginV3QuickCore",
                 "IPluginV3QuickBuild", "IPluginV3QuickAOTBuild", "IPluginV3QuickRuntime", "IPluginV2DynamicExt"):
        cls = getattr(trt, name)
        first = cls()
        first.something = 3
        assert cls(first).something == 3 and isinstance(first, trt.IVersionedInterface)
        assert first.interface_info.kind == cls._interface[0] and first.api_language == trt.APILanguage.PYTHON


def test_level_11_has_plugins_too():
    trt11 = _levels.package(11)
    assert not issubclass(plugins.Scale, trt11.IPluginV3)

    class Add(trt11.IPluginV3, trt11.IPluginV3OneCore, trt11.IPluginV3OneBuild, trt11.IPluginV3OneRuntime):
        plugin_name, plugin_version, num_outputs = "AddAtLevel11", "1", 1

        def get_output_data_types(self, input_types):
            return input_types

        def get_output_shapes(self, inputs, shape_inputs, builder):
            return inputs

        def supports_format_combination(self, pos, in_out, num_inputs):
            return in_out[pos].desc.format == trt11.TensorFormat.LINEAR

        def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
            make = importlib.import_module(trt11.__name__ + ".plugin").Tensor
            make(output_desc[0], outputs[0]).numpy()[...] = make(input_desc[0], inputs[0]).numpy() + 1

    class Creator(trt11.IPluginCreatorV3One):
        name, plugin_version = "AddAtLevel11", "1"

        def create_plugin(self, name, fields, phase):
            return Add()

    assert trt11.get_plugin_registry().register_creator(Creator())
    seen = trt.get_plugin_registry().get_creator("AddAtLevel11", "1")
    assert isinstance(seen, trt.IPluginCreatorV3One) and isinstance(seen.create_plugin("a", [], trt.TensorRTPhase.BUILD), trt.IPluginV3)
    logger = trt11.Logger(trt11.Logger.ERROR)
    builder = trt11.Builder(logger)
    network = builder.create_network(0)
    x = network.add_input("x", trt11.float32, (4, 3))
    y = network.add_plugin_v3([x], [], Add()).get_output(0)
    y.name = "y"
    network.mark_output(y)
    engine = trt11.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, builder.create_builder_config()))
    np.testing.assert_array_equal(trt11.infer(engine.create_execution_context(), {"x": np.ones((4, 3), np.float32)})["y"], np.full((4, 3), 2))
    with pytest.raises(TypeError, match="no IPluginV3"):
        network.add_plugin_v3([x], [], plugins.Scale(2.0))


def test_nothing_is_left_of_an_engine():
    plugins.register()

    def objects():
        gc.collect()
        return sum(isinstance(o, (plugins.Scale, plugins.Shift)) for o in gc.get_objects())

    before = objects()
    for _ in range(10):
        logger = trt.Logger(trt.Logger.ERROR)
        builder = trt.Builder(logger)
        network = builder.create_network(0)
        x = network.add_input("x", trt.float32, (4, 3))
        y = network.add_plugin_v2([network.add_plugin_v3([x], [], plugins.Scale(2.0)).get_output(0)], plugins.Shift(1.0)).get_output(0)
        network.mark_output(y)
        engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, builder.create_builder_config()))
        trt.infer(engine.create_execution_context(), {"x": np.ones((4, 3), np.float32)})
    del engine, network, x, y, builder
    assert objects() == before


def test_threads_run_contexts_of_one_engine():
    plugins.register()
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (4, 3))
    y = network.add_plugin_v3([x], [], plugins.Scale(2.0)).get_output(0)
    y.name = "y"
    network.mark_output(y)
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, builder.create_builder_config()))
    wrong = []

    def work(number):
        given = np.full((4, 3), number, np.float32)
        for _ in range(20):
            context = engine.create_execution_context()
            for _ in range(3):
                if not np.array_equal(trt.infer(context, {"x": given})["y"], 2 * given):
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(t.is_alive() for t in threads) and not wrong
