"""Plugins from the command line and from Python: libraries that `wootz plugin new` begins, and those that TensorRT ships."""
import gc
import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import stock_reference as reference
import wootz as trt

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
WOOTZ = BUILD / "bin" / "wootz"
SEED = int(os.environ.get("WOOTZ_SEED", int.from_bytes(os.urandom(4), "little")))


@pytest.fixture(autouse=True)
def seed():
    print("seed", SEED)


def call(*command, **kwargs):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **kwargs)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The library of the project that `wootz plugin new Thrice` writes, once its own test has passed."""
    tmp_path = tmp_path_factory.mktemp("plugin")
    done = call(WOOTZ, "plugin", "new", "Thrice", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    project, build = tmp_path / "Thrice", tmp_path / "build"
    assert sorted(f.name for f in project.iterdir()) == ["CMakeLists.txt", "plugin.cpp", "plugin_test.cpp"]
    assert not any("@" in f.read_text() for f in project.iterdir())
    configured = call("cmake", "-S", project, "-B", build, f"-DWOOTZ_INCLUDE_DIR={ROOT / 'include'}",
                      f"-DWOOTZ_LIBRARY={BUILD / 'lib' / 'libwootz.so'}")
    assert configured.returncode == 0, configured.stdout + configured.stderr
    made = call("cmake", "--build", build)
    assert made.returncode == 0, made.stdout + made.stderr
    tested = call("ctest", "--test-dir", build, "--output-on-failure", "-V")
    assert tested.returncode == 0 and "Thrice works" in tested.stdout, tested.stdout + tested.stderr
    return next(build.glob("*Thrice.so"))


def test_new_project_builds_and_passes(library):
    assert library.exists()


def node_model(op, inputs, attributes=None, outputs=("y",)):
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph([helper.make_node(op, list(inputs), list(outputs), **(attributes or {}))], "g",
                              [value(n, s) for n, s in inputs.items()],
                              [helper.make_empty_tensor_value_info(n) for n in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("flag", ["--plugins", "--staticPlugins", "--dynamicPlugins"])
def test_command_line_loads_libraries(library, tmp_path, flag):
    onnx.save(node_model("Thrice", {"x": [4]}, {"factor": 3.0}), tmp_path / "model.onnx")
    x = np.arange(4, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    plan = tmp_path / "plan"
    without = call(WOOTZ, "build", tmp_path / "model.onnx", "-o", plan)
    assert without.returncode == 1 and "Thrice" in without.stderr, without.stderr
    made = call(WOOTZ, "build", tmp_path / "model.onnx", "-o", plan, flag, library)
    assert made.returncode == 0, made.stderr
    command = ["run", plan, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path]
    # A library that the plan keeps is run on permission only; the others are to be given again.
    more = ["--allow-native"] if flag == "--dynamicPlugins" else [flag, library]
    refused = call(WOOTZ, *command)
    assert refused.returncode == 1 and "Thrice" in refused.stderr + refused.stdout, refused.stderr
    done = call(WOOTZ, *command, *more)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), 3 * x)


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("mine")
    done = call(WOOTZ, "plugin", "new", "Thrice", "--dir", tmp_path / "kept")
    assert done.returncode == 1 and "not empty" in done.stderr, done.stderr
    done = call(WOOTZ, "plugin", "new", "no-name", "--dir", tmp_path / "other")
    assert done.returncode == 2 and "no-name" in done.stderr, done.stderr
    assert not (tmp_path / "other").exists()


def build_and_run(builder, network, feeds):
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    assert plan is not None
    engine = trt.Runtime(trt.Logger()).deserialize_cuda_engine(plan)
    return trt.infer(engine.create_execution_context(), feeds)


def new_network():
    builder = trt.Builder(trt.Logger())
    return builder, builder.create_network(0)


def fields(**values):
    types = {np.dtype(np.float32): trt.PluginFieldType.FLOAT32, np.dtype(np.int32): trt.PluginFieldType.INT32}
    return trt.PluginFieldCollection(
        [trt.PluginField(n, v.encode(), trt.PluginFieldType.CHAR) if isinstance(v, str) else
         trt.PluginField(n, np.asarray(v), types[np.asarray(v).dtype]) for n, v in values.items()])


@pytest.fixture
def registry():
    assert trt.init_libnvinfer_plugins(trt.Logger(), "")
    return trt.get_plugin_registry()


def test_registry_lists_creators(registry):
    names = {c.name for c in registry.all_creators}
    assert {"EfficientNMS_TRT", "BatchedNMS_TRT", "ROIAlign_TRT", "ScatterND"} <= names
    assert registry.get_creator("EfficientNMS_TRT", "9") is None
    creator = registry.get_plugin_creator("EfficientNMS_TRT", "1", "")
    assert (creator.name, creator.plugin_version, creator.plugin_namespace) == ("EfficientNMS_TRT", "1", "")
    assert {f.name: f.type for f in creator.field_names}["iou_threshold"] == trt.PluginFieldType.FLOAT32
    assert registry.get_creator("ScatterElements", "2").name == "ScatterElements"
    assert registry.get_plugin_creator("ScatterElements", "2") is None  # of V3
    assert trt.Builder(trt.Logger()).get_plugin_registry() is not None


def test_efficient_nms_in_a_network(registry):
    r = np.random.default_rng(SEED)
    at = r.uniform(0, 1, (2, 30, 2))
    feeds = {"boxes": np.concatenate([at, at + r.uniform(0.1, 0.5, at.shape)], -1).astype(np.float32),
             "scores": (r.permutation(180) / 180).reshape(2, 30, 3).astype(np.float32)}
    builder, network = new_network()
    inputs = [network.add_input(n, trt.float32, v.shape) for n, v in feeds.items()]
    creator = registry.get_plugin_creator("EfficientNMS_TRT", "1", "")
    plugin = creator.create_plugin("nms", fields(score_threshold=np.float32([0.3]), max_output_boxes=np.int32([12])))
    assert (plugin.plugin_type, plugin.num_outputs) == ("EfficientNMS_TRT", 4)
    again = creator.deserialize_plugin("again", plugin.serialize())
    layer = network.add_plugin_v2(inputs, again)
    assert layer.type == trt.LayerType.PLUGIN_V2 and layer.plugin.plugin_type == "EfficientNMS_TRT"
    assert network[0].plugin.plugin_version == "1"
    names = ["count", "boxes", "scores", "classes"]
    for i, name in enumerate(names):
        layer.get_output(i).name = "kept_" + name
        network.mark_output(layer.get_output(i))
    got = build_and_run(builder, network, feeds)
    expected = reference.efficient_nms(*feeds.values(), score_threshold=0.3, max_output_boxes=12)
    for name, want in zip(names, expected):
        np.testing.assert_allclose(got["kept_" + name], want, rtol=1e-5, atol=1e-5, err_msg=name)


def test_v3_plugin_in_a_network(registry):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    builder, network = new_network()
    data = network.add_input("x", trt.float32, x.shape)
    index = network.add_constant((2, 1), np.array([[2], [0]], np.int64)).get_output(0)
    added = network.add_constant((2, 1), np.array([[10], [20]], np.float32)).get_output(0)
    plugin = registry.get_creator("ScatterElements", "2").create_plugin(
        "scatter", fields(reduction="add", axis=np.int32([1])), trt.TensorRTPhase.BUILD)
    layer = network.add_plugin_v3([data, index, added], [], plugin)
    assert layer.type == trt.LayerType.PLUGIN_V3
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    np.testing.assert_array_equal(build_and_run(builder, network, {"x": x})["y"], x + [[0, 0, 10], [20, 0, 0]])


def run_thrice(registry, x):
    builder, network = new_network()
    data = network.add_input("x", trt.float32, x.shape)
    creator = registry.get_creator("Thrice", "1", "")
    plugin = creator.create_plugin("p", fields(factor=np.float32([3])), trt.TensorRTPhase.BUILD)
    layer = network.add_plugin_v3([data], [], plugin)
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    return build_and_run(builder, network, {"x": x})["y"]


def test_library_of_ones_own(registry, library):
    handle = registry.load_library(str(library))
    assert handle is not None
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(run_thrice(registry, x), 3 * x)
    gc.collect()  # no plugin may outlive its library
    registry.deregister_library(handle)
    assert registry.get_creator("Thrice", "1", "") is None


def test_fields_are_checked(registry):
    with pytest.raises(TypeError, match="elements of 8 bytes"):
        trt.PluginField("axis", np.array([1]), trt.PluginFieldType.INT32)
    assert trt.PluginField("a", np.int32([1, 2]), trt.PluginFieldType.INT32).size == 2
    assert trt.PluginField("a", (3, 4), trt.PluginFieldType.DIMS).size == 1
    creator = registry.get_plugin_creator("GroupNormalizationPlugin", "1", "")
    assert creator.create_plugin("g", trt.PluginFieldCollection()) is None
    plugin = creator.create_plugin("g", fields(num_groups=np.int32([2])))
    plugin.destroy()
    with pytest.raises(RuntimeError, match="destroyed"):
        plugin.plugin_type
