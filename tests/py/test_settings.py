"""Settings as Python and the command line see them: what has no effect is named, profiles are switched, the machine is told."""
import json
import os
import pathlib
import re
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WOOTZ_BUILD_DIR", ROOT / "build" / "release")).resolve()
WOOTZ = BUILD / "bin" / "wootz"
# Flags that a build neither acts on nor refuses, by name in a warning.
NAMED = {"FP16", "BF16", "INT8", "FP8", "INT4", "FP4", "EXCLUDE_LEAN_RUNTIME"}
PROCESSOR = set(re.findall(r"\w+", pathlib.Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0]))
if os.environ.get("WOOTZ_ISA", "avx512") == "avx512":  # what it computes fast in acts
    NAMED -= {"BF16"} if PROCESSOR & {"avx512_bf16", "amx_bf16"} else set()
    NAMED -= {"FP16"} if "amx_fp16" in PROCESSOR else set()
# The last: of a network that is not strongly typed.
REFUSED = {"SAFETY_SCOPE", "WEIGHT_STREAMING"}
PRECISION = {"FP16", "BF16", "INT8", "FP8", "INT4", "FP4", "OBEY_PRECISION_CONSTRAINTS", "PREFER_PRECISION_CONSTRAINTS"}


def call(*command, **kwargs):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300, **kwargs)


def product(path, rows):
    """y = x w, x of `rows` x 6."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    w = np.random.default_rng(3).standard_normal((6, 5)).astype(np.float32)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "settings",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 6])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 5])],
                              [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return w


class Lines:
    """What a build logs, by severity."""

    def __init__(self, wootz):
        class Logger(wootz.ILogger):
            def __init__(self):
                super().__init__()
                self.warnings, self.errors = [], []

            def log(self, severity, text):
                if severity == wootz.ILogger.Severity.WARNING:
                    self.warnings.append(text)
                elif severity in (wootz.ILogger.Severity.ERROR, wootz.ILogger.Severity.INTERNAL_ERROR):
                    self.errors.append(text)

        self.logger = Logger()


def one_layer(wootz, logger, strongly_typed):
    builder = wootz.Builder(logger)
    flags = 1 << int(wootz.NetworkDefinitionCreationFlag.STRONGLY_TYPED) if strongly_typed else 0
    network = builder.create_network(flags)
    x = network.add_input("x", wootz.float32, (2, 3))
    network.mark_output(network.add_activation(x, wootz.ActivationType.RELU).get_output(0))
    config = builder.create_builder_config()
    config.set_option("backend", "cpu")
    config.set_option("timing", "0")
    return builder, network, config


def test_python_names_flags_without_effect():
    import wootz
    lines = Lines(wootz)
    builder, network, config = one_layer(wootz, lines.logger, strongly_typed=False)
    names = [n for n in dir(wootz.BuilderFlag) if n.isupper() and n != "WEIGHTLESS"]
    assert len(names) == 29, names
    for name in names:
        lines.logger.warnings.clear()
        config.set_flag(getattr(wootz.BuilderFlag, name))
        assert (builder.build_serialized_network(network, config) is None) == (name in REFUSED), name
        told = [w for w in lines.logger.warnings if f"BuilderFlag::k{name}: " in w]
        assert told == lines.logger.warnings and (told != []) == (name in NAMED), name
        if name != "TF32":
            config.clear_flag(getattr(wootz.BuilderFlag, name))
    lines.logger.warnings.clear()
    assert builder.build_serialized_network(network, config) is not None
    assert lines.logger.warnings == []


def test_python_refuses_precision_flags_for_strong_types():
    import wootz
    lines = Lines(wootz)
    builder, network, config = one_layer(wootz, lines.logger, strongly_typed=True)
    for name in sorted(PRECISION):
        lines.logger.errors.clear()
        config.set_flag(getattr(wootz.BuilderFlag, name))
        assert builder.build_serialized_network(network, config) is None, name
        assert any(f"BuilderFlag::k{name} " in e and "kSTRONGLY_TYPED" in e for e in lines.logger.errors), name
        config.clear_flag(getattr(wootz.BuilderFlag, name))
    assert builder.build_serialized_network(network, config) is not None


def test_python_sets_types_of_layers():
    import wootz
    lines = Lines(wootz)
    builder, network, config = one_layer(wootz, lines.logger, strongly_typed=False)
    layer = network[0]
    assert not layer.precision_is_set
    layer.precision = wootz.float16
    assert layer.precision_is_set and layer.precision == wootz.float16
    config.set_flag(wootz.BuilderFlag.OBEY_PRECISION_CONSTRAINTS)
    assert builder.build_serialized_network(network, config) is None
    assert any("asked to compute in f16" in e for e in lines.logger.errors), lines.logger.errors
    layer.reset_precision()
    assert not layer.precision_is_set
    assert builder.build_serialized_network(network, config) is not None


def test_python_sees_formats():
    import wootz
    lines = Lines(wootz)
    builder = wootz.Builder(lines.logger)
    network = builder.create_network(0)
    x = network.add_input("x", wootz.float32, (2, 8, 3, 4))
    y = network.add_activation(x, wootz.ActivationType.RELU).get_output(0)
    y.name = "y"
    network.mark_output(y)
    x.allowed_formats = 1 << int(wootz.TensorFormat.HWC8)
    config = builder.create_builder_config()
    config.set_option("backend", "cpu")
    config.set_option("timing", "0")
    plan = builder.build_serialized_network(network, config)
    assert plan is not None, lines.logger.errors
    engine = wootz.Runtime(lines.logger).deserialize_cuda_engine(plan)
    assert engine.get_tensor_format("x") == wootz.TensorFormat.HWC8
    assert engine.get_tensor_vectorized_dim("x") == 1 and engine.get_tensor_components_per_element("x") == 8
    assert engine.get_tensor_bytes_per_component("x") == 4 and engine.get_tensor_bytes_per_component("y") == -1
    context = engine.create_execution_context()
    image = np.random.default_rng().standard_normal((2, 8, 3, 4)).astype(np.float32)
    moved = np.ascontiguousarray(image.transpose(0, 2, 3, 1))
    result = np.empty_like(image)
    context.set_tensor_address("x", moved.ctypes.data)
    context.set_tensor_address("y", result.ctypes.data)
    assert context.execute_async_v3(0)
    np.testing.assert_array_equal(result, np.maximum(image, 0))


FORMATS = ["HWC", "CHW2", "CHW4", "HWC8", "CHW16", "CHW32", "HWC16", "DHWC", "DHWC8", "CDHW32"]


@pytest.mark.parametrize("name", FORMATS)
def test_arrays_are_row_major_whatever_the_format(name):
    """Both ends in the format; channels and batch are open, and one call has no elements."""
    import wootz
    lines = Lines(wootz)
    builder = wootz.Builder(lines.logger)
    network = builder.create_network(0)
    space = (2, 3, 4) if "D" in name else (3, 4)
    x = network.add_input("x", wootz.float32, (-1, -1, *space))
    y = network.add_activation(x, wootz.ActivationType.RELU).get_output(0)
    y.name = "y"
    network.mark_output(y)
    x.allowed_formats = y.allowed_formats = 1 << int(getattr(wootz.TensorFormat, name))
    config = builder.create_builder_config()
    config.set_option("backend", "cpu")
    config.set_option("timing", "0")
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (0, 1, *space), (2, 16, *space), (3, 40, *space))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None, lines.logger.errors
    engine = wootz.Runtime(lines.logger).deserialize_cuda_engine(plan)
    assert engine.get_tensor_format("x") == engine.get_tensor_format("y") == getattr(wootz.TensorFormat, name)
    context = engine.create_execution_context()
    random = np.random.default_rng()
    for batch, channels in [(2, 19), (1, 1), (0, 5), (3, int(random.integers(2, 41)))]:
        image = random.standard_normal((batch, channels, *space)).astype(np.float32)
        np.testing.assert_array_equal(wootz.infer(context, {"x": image})["y"], np.maximum(image, 0))


@pytest.mark.parametrize("word", ["chw4", "hwc8", "chw32"])
def test_command_line_takes_formats(tmp_path, word):
    """Formats by --inputIOFormats and --outputIOFormats; files are row-major on either side."""
    import onnx
    from onnx import TensorProto, helper
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "formats",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 5, 3, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5, 3, 4])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    built = call(WOOTZ, "exec", f"--onnx={tmp_path / 'm.onnx'}", f"--inputIOFormats=fp32:{word}", f"--outputIOFormats=fp32:{word}",
                 f"--saveEngine={tmp_path / 'm.plan'}", "--device=cpu", "--iterations=2", "--duration=0", "--warmUp=0")
    assert built.returncode == 0, built.stderr
    image = np.random.default_rng().standard_normal((2, 5, 3, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", image)
    ran = call(WOOTZ, "run", tmp_path / "m.plan", "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path / "out")
    assert ran.returncode == 0, ran.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), np.maximum(image, 0))
    import wootz
    engine = wootz.Runtime(Lines(wootz).logger).load_file(str(tmp_path / "m.plan"))
    assert engine.get_tensor_format("x") == engine.get_tensor_format("y") == getattr(wootz.TensorFormat, word.upper())


def test_sources_of_kernels_are_left_out(tmp_path):
    import wootz
    lines = Lines(wootz)
    builder, network, config = one_layer(wootz, lines.logger, strongly_typed=False)
    config.profiling_verbosity = wootz.ProfilingVerbosity.DETAILED
    for left, stays in [("onednn,chain", "native"), ("native,onednn,chain", "reference")]:
        config.set_option("leave_out", left)
        plan = builder.build_serialized_network(network, config)
        assert plan is not None, lines.logger.errors
        inspector = wootz.Runtime(lines.logger).deserialize_cuda_engine(plan).create_engine_inspector()
        told = inspector.get_engine_information(wootz.LayerInformationFormat.JSON)
        tactics = set(re.findall(r'"(native|onednn|chain|reference)\b', told))
        assert tactics == {stays}, told
    product(tmp_path / "model.onnx", 4)
    command = [WOOTZ, "build", tmp_path / "model.onnx", "-o", tmp_path / "model.plan", "--device", "cpu", "--option"]
    assert call(*command, "leave_out=native,onednn,chain").returncode == 0
    refused = call(*command, "leave_out=reference")
    assert refused.returncode != 0 and "'reference' is none of the providers" in refused.stderr, refused.stderr


@pytest.mark.parametrize("option", ["fp16", "bf16", "int8"])
def test_command_line_names_flags_without_effect(tmp_path, option):
    product(tmp_path / "model.onnx", 4)
    built = call(WOOTZ, "build", tmp_path / "model.onnx", "-o", tmp_path / "model.plan", "--device", "cpu", "--no-timing",
                 f"--{option}")
    assert built.returncode == 0, built.stderr
    assert (f"BuilderFlag::k{option.upper()}: " in built.stderr) == (option.upper() in NAMED), built.stderr


def test_profiles_are_switched(tmp_path):
    """The second profile is the larger one, and there and back both give what NumPy does."""
    import wootz
    w = product(tmp_path / "model.onnx", "n")
    plan = wootz.build(str(tmp_path / "model.onnx"), options={"timing": "0", "backend": "cpu"},
                       shapes=[{"x": ((1, 6), (4, 6), (8, 6))}, {"x": ((1, 6), (32, 6), (64, 6))}])
    runtime = wootz.Runtime(wootz.Logger(wootz.Logger.ERROR))
    engine = runtime.deserialize_cuda_engine(plan)
    assert engine.num_optimization_profiles == 2
    context = engine.create_execution_context()
    for profile, rows in [(0, 8), (1, 64), (1, 9), (0, 1)]:
        assert context.set_optimization_profile_async(profile, 0)
        x = np.random.default_rng(rows).standard_normal((rows, 6)).astype(np.float32)
        np.testing.assert_allclose(wootz.infer(context, {"x": x})["y"], x @ w, rtol=1e-4, atol=1e-5)


def test_plans_straight_to_a_file(tmp_path):
    """The same bytes as in memory; what cannot be written is told, and leaves no file."""
    import wootz
    w = product(tmp_path / "model.onnx", 4)
    options = {"timing": "0", "backend": "cpu"}
    plan, file = wootz.build(str(tmp_path / "model.onnx"), options=options), tmp_path / "model.plan"
    assert wootz.build(str(tmp_path / "model.onnx"), options=options, output=file) is None
    assert file.read_bytes() == plan
    context = wootz.Runtime(wootz.Logger(wootz.Logger.ERROR)).load_file(str(file)).create_execution_context()
    x = np.random.default_rng(4).standard_normal((4, 6)).astype(np.float32)
    np.testing.assert_allclose(wootz.infer(context, {"x": x})["y"], x @ w, rtol=1e-4, atol=1e-5)
    quiet = wootz.Logger(wootz.Logger.INTERNAL_ERROR)
    with pytest.raises(wootz.BuildError):
        wootz.build(str(tmp_path / "model.onnx"), options=options, output=tmp_path / "no" / "such.plan", logger=quiet)
    assert not (tmp_path / "no").exists()


def test_this_machine_is_listed_first():
    listed = call(WOOTZ, "devices")
    assert listed.returncode == 0, listed.stderr
    here, known = listed.stdout.split("\n\n")[:2] if "\n\n" in listed.stdout else (listed.stdout, "")
    machine = json.loads(call(WOOTZ, "devices", "--json").stdout)
    assert [b["backend"] for b in machine["backends"]] == ["cuda", "cpu"]
    assert here.startswith("This machine")
    for backend in machine["backends"]:
        line = re.search(rf"^  {backend['backend']}(?::0)? +(.*)$", here, re.M)[1]
        if "why_not" in backend:
            assert line.startswith("none: ") and backend["why_not"].splitlines()[0] in line
            continue
        assert backend["name"] in line and backend["isa"] in line and "GiB" in line
        assert line.endswith("; used by default") == (backend["backend"] == machine["default_backend"])
    cpu = machine["backends"][1]
    assert cpu["threads"] >= 1 and cpu["memory"] > 1 << 30 and str(cpu["threads"]) + " threads" in here
    for device in machine["known_devices"]:
        assert re.search(rf"^  {device['alias']} +{re.escape(device['name'])}, .*GiB$", known, re.M), device


def test_python_lists_this_machine():
    import wootz
    machine = wootz.devices()
    assert machine == json.loads(call(WOOTZ, "devices", "--json").stdout)
    assert machine["version"] and machine["api_version"] == wootz.__version__


def test_version():
    told = call(WOOTZ, "--version")
    assert told.returncode == 0
    version = re.search(r"project\(wootz VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert re.fullmatch(rf"wootz {re.escape(version)}, TensorRT's API \d+\.\d+\.\d+\n", told.stdout), told.stdout


def test_help_tells_environment_exit_status_and_guide():
    """Every variable that the library reads is in the help and in the manual, and no other."""
    read = set()
    for folder in ("src", "tools"):
        for path in (ROOT / folder).rglob("*.cpp"):
            if not path.name.endswith("_test.cpp"):
                read |= set(re.findall(r'"(WOOTZ_[A-Z_]+)"', path.read_text())) if path.name != "about.cpp" else set()
    read -= {"WOOTZ_EMULATOR_KEEP", "WOOTZ_EMULATOR_RACES", "WOOTZ_SOURCE_DIR"}  # of tests
    told = call(WOOTZ, "--help").stdout
    assert {v for v in re.findall(r"\bWOOTZ_[A-Z_]+", told)} == read
    manual = (ROOT / "docs/command-line.md").read_text()
    section = re.search(r"^## Environment\b.*?(?=^## |\Z)", manual, re.M | re.S)[0]
    assert set(re.findall(r"^\| `(WOOTZ_[A-Z_]+)`", section, re.M)) == read
    for status in range(4):
        assert re.search(rf"^  {status} +\w", told, re.M), told
    for page in re.findall(r"docs/[\w-]+\.md", told):
        assert (ROOT / page).exists(), page
    assert "docs/command-line.md" in told


def test_python_sets_the_pool_of_an_engine():
    import wootz
    lines = Lines(wootz)
    builder, network, config = one_layer(wootz, lines.logger, strongly_typed=False)
    plan = builder.build_serialized_network(network, config)
    runtime = wootz.Runtime(lines.logger)
    engine = runtime.deserialize_cuda_engine(plan)
    engine.set_thread_pool(1)
    context = engine.create_execution_context()
    x = np.linspace(-1, 1, int(np.prod(network.get_input(0).shape)), dtype=np.float32).reshape(tuple(network.get_input(0).shape))
    for _ in range(2):
        assert np.array_equal(next(iter(wootz.infer(context, {network.get_input(0).name: x}).values())), np.maximum(x, 0))
        engine.set_thread_pool(2, spin_us=0)
    with pytest.raises((RuntimeError, ValueError)):
        engine.set_thread_pool(-3)
    wootz.set_thread_pool()
